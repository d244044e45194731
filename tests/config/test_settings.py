"""What the environment may say, tried in processes of their own."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config import environment

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
        (PRODUCTION | {"ALLOWED_HOSTS": "*"}, "SITE_URL is required when ALLOWED_HOSTS begins"),
        ({"SITE_URL": "scores.example.com"}, "SITE_URL='scores.example.com' is not valid"),
        ({"SITE_URL": "https://a.example/b"}, "SITE_URL='https://a.example/b' is not valid"),
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


def test_mail_is_kept_in_files_locally_and_sent_where_the_environment_says(tmp_path):
    ask = (
        "from django.conf import settings as s; print(s.EMAIL_BACKEND, s.EMAIL_HOST, s.EMAIL_PORT)"
    )
    local = manage("shell", "-v0", "-c", ask, var=tmp_path)
    assert "filebased.EmailBackend" in local.stdout
    console = manage("check", var=tmp_path, EMAIL_URL="consolemail://")
    assert "EMAIL_URL='consolemail://' is not valid" in console.stderr
    smtp = {"EMAIL_URL": "smtp+tls://user:secret@mail.example.com:587"}
    sent = manage("shell", "-v0", "-c", ask, var=tmp_path, **smtp)
    assert "smtp.EmailBackend mail.example.com 587" in sent.stdout


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"SITE_URL": "http://10.0.0.7:9000/"}, "http://10.0.0.7:9000"),
        (PRODUCTION, "https://scores.example.com"),
        (PRODUCTION | {"ALLOWED_HOSTS": "*", "SITE_URL": "https://a.example"}, "https://a.example"),
    ],
)
def test_the_address_of_the_site_is_given_or_the_first_allowed_host(tmp_path, environment, address):
    ask = "from django.conf import settings; print(settings.SITE_URL)"
    found = manage("shell", "-v0", "-c", ask, var=tmp_path, **environment)
    assert found.stdout.strip() == address, found.stderr


def test_the_folder_of_the_data_is_closed_to_others(tmp_path):
    made, found = tmp_path / "made", tmp_path / "found"
    before = os.umask(0o022)
    try:
        found.mkdir(mode=0o755)
        for folder in (made, found):
            assert environment.private_folder(folder).stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_processes_that_start_at_once_share_the_local_key(tmp_path):
    for attempt in range(20):
        path = tmp_path / f"key{attempt}"
        with multiprocessing.get_context("fork").Pool(4) as processes:
            found = processes.map(environment.local_secret, [path] * 4, chunksize=1)
        assert set(found) == {path.read_text()}
        assert len(found[0]) >= 50
    assert len(list(tmp_path.iterdir())) == 20, "no draft stays"
