"""What the environment may say, tried in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCTION = {
    "DEBUG": "false",
    "SECRET_KEY": "Zx8-" + "q1W2e3R4t5Y6u7I8" * 4,
    "ALLOWED_HOSTS": "scores.example.com",
    "REDIS_URL": "redis://127.0.0.1:1/0",
}


def manage(*arguments, var, **environment):
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=clean | {"VAR_DIR": str(var)} | environment,
        capture_output=True,
        text=True,
    )


def test_without_the_packages_the_command_line_says_what_to_do():
    bare = [sys.executable, "-S", "manage.py", "check"]  # -S: no site-packages
    found = subprocess.run(bare, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr.startswith("rostrum: Django is not installed")
    assert "make install" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({"DEBUG": "perhaps"}, "DEBUG='perhaps' is not valid: expected true or false."),
        ({"DATABASE_URL": "mysql://x/y"}, "DATABASE_URL is not valid: expected postgres://"),
        ({"DATABASE_URL": "what"}, "DATABASE_URL is not valid: expected postgres://"),
        ({"REDIS_URL": "localhost"}, "REDIS_URL is not valid: expected redis://"),
        ({"CACHE_URL": "localhost"}, "CACHE_URL is not valid: expected redis://"),
        ({"TRUSTED_PROXIES": "-1"}, "TRUSTED_PROXIES='-1' is not valid: expected a whole number"),
        ({"TIME_ZONE": "Mars/Base"}, "TIME_ZONE='Mars/Base' is not valid: expected a time zone"),
        ({"DEBUG": "false"}, "SECRET_KEY is required when DEBUG is off"),
        (PRODUCTION | {"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is required when DEBUG is off"),
    ],
)
def test_a_wrong_value_stops_the_start_with_one_line(tmp_path, environment, line):
    result = manage("check", var=tmp_path, **environment)
    assert result.returncode == 1
    assert result.stderr.startswith(f"rostrum: {line}")
    assert result.stderr.count("\n") == 1


def test_production_settings_pass_the_deployment_check(tmp_path):
    result = manage("check", "--deploy", "--fail-level", "WARNING", var=tmp_path, **PRODUCTION)
    assert result.returncode == 0, result.stderr
    assert "no issues" in result.stdout


def test_the_local_key_is_made_once(tmp_path):
    for _ in range(2):
        assert manage("check", var=tmp_path).returncode == 0
    assert len((tmp_path / "secret_key").read_text()) >= 50
    assert (tmp_path / "secret_key").stat().st_mode & 0o077 == 0


def test_mail_is_printed_locally_and_sent_where_the_environment_says(tmp_path):
    ask = (
        "from django.conf import settings as s; print(s.EMAIL_BACKEND, s.EMAIL_HOST, s.EMAIL_PORT)"
    )
    local = manage("shell", "-v0", "-c", ask, var=tmp_path)
    assert "console.EmailBackend" in local.stdout
    smtp = {"EMAIL_URL": "smtp+tls://user:secret@mail.example.com:587"}
    sent = manage("shell", "-v0", "-c", ask, var=tmp_path, **smtp)
    assert "smtp.EmailBackend mail.example.com 587" in sent.stdout
