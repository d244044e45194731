"""Look at the limits from the command line, and help one caller or stop one."""

from __future__ import annotations

import argparse
import getpass
import re
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ratelimit import callers, policies, selectors, services

EXAMPLES = """
examples:
  manage.py ratelimit list
  manage.py ratelimit peek login ip=203.0.113.7 username=ada
  manage.py ratelimit reset score_submit user=42
  manage.py ratelimit block page ip=2001:db8::1 --for 2h
  manage.py ratelimit unblock page ip=2001:db8::1
  manage.py ratelimit fingerprint rk_…      (names an API key in "exempt key …")
"""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Command(BaseCommand):
    help = "List the rate limits; peek at, reset, block or unblock one caller."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs |= {"epilog": EXAMPLES, "formatter_class": argparse.RawDescriptionHelpFormatter}
        return super().create_parser(prog_name, subcommand, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="verb")
        verbs.add_parser("list", help="every policy, as it is in force")
        for verb, text in (
            ("peek", "show a caller's limits"),
            ("reset", "reset a caller's counters"),
            ("block", "refuse every call for a time"),
            ("unblock", "lift a block"),
        ):
            sub = verbs.add_parser(verb, help=text)
            sub.add_argument("policy")
            sub.add_argument("caller", nargs="+", help="word=value for each word after “by”")
            if verb == "block":
                sub.add_argument("--for", dest="seconds", type=_duration, default="1h")
        verbs.add_parser("fingerprint", help="name an API key").add_argument("api_key")

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        if verb == "list":
            for row in selectors.policy_rows():
                mark = " (overridden)" if row.overridden else ""
                self.stdout.write(f"{row.policy.name}: {row.policy}{mark}")
        elif verb == "fingerprint":
            self.stdout.write(callers.fingerprint(options["api_key"]))
        else:
            caller = _caller(options["policy"], " ".join(options["caller"]))
            getattr(self, f"_{verb}")(options["policy"], caller, options)

    def _peek(self, policy: str, caller: str, options: dict[str, Any]) -> None:
        decision = selectors.peek(policy, caller)
        for limit, standing in zip(decision.policy.limits, decision.limit_states, strict=True):
            self.stdout.write(
                f"{limit}: {standing.remaining} of {standing.limit} left, full reset in "
                f"{standing.reset_after:.1f} s"
                + (f", next in {standing.retry_after:.1f} s" if standing.retry_after else "")
            )
        if until := selectors.blocked_until(policy, caller):
            self.stdout.write(f"blocked until {_shown(until)}")

    def _reset(self, policy: str, caller: str, options: dict[str, Any]) -> None:
        services.reset_caller(policy=policy, caller=caller, actor=_actor())
        self.stdout.write("Reset.")

    def _block(self, policy: str, caller: str, options: dict[str, Any]) -> None:
        try:
            services.block_caller(
                policy=policy, caller=caller, seconds=options["seconds"], actor=_actor()
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
        until = selectors.blocked_until(policy, caller)
        assert until is not None
        self.stdout.write(f"Blocked until {_shown(until)}.")

    def _unblock(self, policy: str, caller: str, options: dict[str, Any]) -> None:
        was_blocked = services.unblock_caller(policy=policy, caller=caller, actor=_actor())
        self.stdout.write("Unblocked." if was_blocked else "This caller was not blocked.")


def _duration(text: str) -> int:
    found = re.fullmatch(r"(\d+)([smhd])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90s, 10m, 2h or 7d")
    return int(found[1]) * _UNITS[found[2]]


def _caller(policy: str, text: str) -> str:
    try:
        return callers.from_text(policies.get(policy).by, text)
    except policies.UnknownPolicyError as error:
        raise CommandError(str(error)) from error
    except ValueError as error:
        raise CommandError(f"{text!r} is not a caller of {policy}: {error}.") from error


def _actor() -> str:
    return f"command line ({getpass.getuser()})"


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
