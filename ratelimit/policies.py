"""The policies in force: those of the settings, with the overrides of the admin."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from config.errors import ConfigurationError
from ratelimit import callers, sentence
from ratelimit.policy import Policy, PolicyError

logger = logging.getLogger("rostrum.ratelimit")


class UnknownPolicyError(LookupError):
    """No policy has this name."""


_configured: dict[str, Policy] = {}
_in_force: dict[str, Policy] = {}


def configure() -> None:
    """Read the settings; an invalid policy raises an error that names it."""
    global _configured, _in_force
    sentences: Mapping[str, str] = settings.RATE_LIMITS
    _configured = {name: _configured_policy(name, text) for name, text in sentences.items()}
    for prefix, name in settings.RATE_LIMIT_PREFIXES.items():
        if name is not None and name not in _configured:
            raise ConfigurationError(
                f"RATE_LIMIT_PREFIXES[{prefix!r}] is not valid: {name!r} is not in RATE_LIMITS."
            )
    _in_force = dict(_configured)


def _configured_policy(name: str, text: Any) -> Policy:
    try:
        if not isinstance(text, str):
            raise PolicyError(repr(text), "a sentence such as '5/minute by ip'")
        policy = sentence.parse(name, text)
        check_names(policy)
    except PolicyError as error:
        raise ConfigurationError(
            f"RATE_LIMITS[{name!r}] = {text!r} is not valid, {error}."
        ) from error
    return policy


def check_names(policy: Policy) -> None:
    """Raise PolicyError when a word of the policy is unknown or a dotted path has no function."""
    for word in policy.by:
        try:
            callers.find_caller(word)
        except ImportError:
            known = ", ".join(callers.KNOWN)
            raise PolicyError(word, f"{known}, or the path of a function") from None
    if isinstance(policy.cost, str):
        try:
            import_string(policy.cost)
        except ImportError:
            raise PolicyError(policy.cost, "a number, or the path of a function") from None


def override(sentences: Mapping[str, str]) -> None:
    """Put overrides in force. One that no longer fits its policy is ignored and logged."""
    global _in_force
    changed = {}
    for name, text in sentences.items():
        try:
            changed[name] = overridden(name, text)
        except (PolicyError, UnknownPolicyError) as error:
            # It was checked when it was saved; a new release may know other policies.
            logger.warning("override ignored", extra={"policy": name, "reason": str(error)})
    _in_force = _configured | changed


def overridden(name: str, text: str) -> Policy:
    """The configured policy with an override. Raises PolicyError."""
    policy = sentence.parse(name, text, base=configured(name))
    check_names(policy)
    return policy


def get(name: str) -> Policy:
    """The policy in force under this name."""
    return _find(name, _in_force)


def configured(name: str) -> Policy:
    """The policy as the settings have it."""
    return _find(name, _configured)


def names() -> list[str]:
    return list(_configured)


def _find(name: str, known: Mapping[str, Policy]) -> Policy:
    try:
        return known[name]
    except KeyError:
        message = f"{name!r} is not in RATE_LIMITS; known: {', '.join(known)}."
        raise UnknownPolicyError(message) from None
