"""Running our commands as a person does."""

import io

import pytest
from django.core.management import CommandError, call_command


def run(*arguments, **options):
    """What the command prints."""
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err, **options)
    return out.getvalue()


def refused(*arguments):
    """The one line with which the command ends."""
    with pytest.raises(CommandError) as error:
        run(*arguments)
    return str(error.value)
