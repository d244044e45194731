"""Errors that the operator of Rostrum can fix."""


class ConfigurationError(Exception):
    """A setting is missing or wrong; the message names it and what it expects."""
