"""What Dockerfile, compose.yaml and Caddyfile name exists and fits together.

No container is built here. What the image would hold is put into a folder instead, and its commands
run there with the environment that compose.yaml gives.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
FILE = {
    "SITE": "scores.example.com",
    "SECRET_KEY": "0123456789abcdef" * 4,
    "POSTGRES_PASSWORD": "p",
}


@pytest.fixture(scope="module")
def compose():
    """With the variables of `.env` filled in, as `docker compose` does."""
    text = (ROOT / "compose.yaml").read_text()
    return yaml.safe_load(re.sub(r"\$\{(\w+)(?::\?[^}]*)?\}", lambda found: FILE[found[1]], text))


@pytest.fixture(scope="module")
def steps():
    """The Dockerfile's instructions with their arguments."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


@pytest.fixture(scope="module")
def image(steps, tmp_path_factory):
    """A folder with what the image gets, and nothing else."""
    folder = tmp_path_factory.mktemp("image")
    for sources, target in (words(text) for name, text in steps if name == "COPY"):
        for source in sources:
            place = folder / target
            if (ROOT / source).is_dir():
                ignore = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, place, ignore=ignore)
            else:
                shutil.copy(ROOT / source, place)
    return folder


def words(text):
    *sources, target = text.split()
    return sources, target


def run(command, folder, **environment):
    assert command[0] == "python"
    path = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, *command[1:]],
        cwd=folder,
        env=path | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_services_are_there(compose):
    services = compose["services"]
    assert set(services) == {"web", "worker", "valkey", "postgres", "caddy"}
    assert services["web"]["deploy"]["replicas"] == 2
    assert services["worker"]["deploy"]["replicas"] == 2


def test_what_a_service_names_exists(compose):
    for service in compose["services"].values():
        assert service.get("build", ".") == "."
        assert set(service.get("depends_on", [])) <= set(compose["services"])
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("./"):
                assert (ROOT / source).is_file()
            else:
                assert source in compose["volumes"]


def test_a_stop_during_the_start_is_not_lost(compose):
    # As process 1 a program gets no signal before it has a handler for it.
    assert all(one["init"] for one in compose["services"].values() if "build" in one)


def test_who_waits_for_health_waits_for_somebody_who_tells(compose, steps):
    in_image = any(name == "HEALTHCHECK" for name, _ in steps)
    for service in compose["services"].values():
        waits = service.get("depends_on", {})
        for name in waits if isinstance(waits, dict) else ():
            other = compose["services"][name]
            assert "healthcheck" in other or (in_image and other.get("build"))


def test_addresses_lead_to_services(compose):
    environment = compose["services"]["web"]["environment"]
    assert re.search(r"@postgres:5432/rostrum$", environment["DATABASE_URL"])
    assert environment["REDIS_URL"] == "redis://valkey:6379/0"
    assert compose["services"]["postgres"]["environment"]["POSTGRES_USER"] == "rostrum"
    caddy = (ROOT / "Caddyfile").read_text()
    assert "dynamic a web 8000" in caddy
    assert "{$SITE}" in caddy
    assert compose["services"]["caddy"]["environment"] == {"SITE": FILE["SITE"]}


def test_every_variable_is_one_that_rostrum_reads(compose):
    known = re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    for name in ("web", "worker"):
        assert set(compose["services"][name]["environment"]) <= set(known)


def test_redis_keeps_every_board(compose):
    command = " ".join(compose["services"]["valkey"]["command"])
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command


def test_the_image_builds_its_static_files(steps, image):
    builds = [text for name, text in steps if name == "RUN" and "manage.py" in text]
    assert builds
    for text in builds:
        run(shlex.split(text.split("&&")[0]), image)
    assert list((image / "var").rglob("*.css.br"))


def test_its_commands_run_with_the_environment_of_compose(compose, steps, image):
    """Up to the point where they would need the other services."""
    environment = compose["services"]["web"]["environment"]
    out = run(["python", "manage.py", "check", "--deploy"], image, **environment)
    # Caddy redirects to HTTPS, so Rostrum need not.
    assert re.findall(r"\((\w+\.[WE]\d+)\)", out) == ["security.W008"]
    default = next(text for name, text in steps if name == "CMD")
    for command in (yaml.safe_load(default), compose["services"]["worker"]["command"]):
        run([*command, "--help"], image, **environment)
