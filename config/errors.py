"""Errors that a person running Rostrum can mend."""


class ConfigurationError(Exception):
    """A setting is missing or wrong; the message names it and what it expects."""
