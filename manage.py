#!/usr/bin/env python3
"""Rostrum's command line."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from config.errors import ConfigurationError

    try:
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except ModuleNotFoundError as error:
        if error.name != "django":
            raise
        sys.exit(
            "rostrum: Django is not installed for this Python. `make install` puts the packages "
            "into .venv; then run .venv/bin/python manage.py …"
        )
    except ConfigurationError as error:
        # A wrong setting is the operator's to mend: one line, not a traceback.
        sys.exit(f"rostrum: {error}")
    except KeyboardInterrupt:
        sys.exit(130)  # as a shell says it; whoever pressed Ctrl-C needs no traceback


if __name__ == "__main__":
    main()
