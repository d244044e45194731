"""Where a trial says it can be opened."""

import socket
from contextlib import closing

import pytest

from config import addresses
from config.management.commands.serve import Serving


def own_address():
    """This machine's address in a network, as its routes give it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.77", 9))
        return probe.getsockname()[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.1.1", "::1", "localhost"])
def test_a_trial_on_loopback_has_no_address_for_others(host):
    assert addresses.for_others(host, 8000) == []


def test_a_named_address_is_the_one_for_others():
    assert addresses.for_others("10.1.2.3", 8001) == ["http://10.1.2.3:8001"]
    assert addresses.for_others("fd00::7", 8001) == ["http://[fd00::7]:8001"]


def test_a_trial_on_every_address_names_those_that_others_reach():
    found = addresses.for_others("0.0.0.0", 8000)
    assert f"http://{own_address()}:8000" in found
    with closing(socket.create_server(("0.0.0.0", 0))) as server:
        port = server.getsockname()[1]
        for address in addresses.for_others("0.0.0.0", port):
            host = address.removeprefix("http://").partition(":")[0]
            assert not host.startswith("127.")
            socket.create_connection((host, port), timeout=5).close()


def trial(settings, tmp_path, monkeypatch, host):
    settings.VAR_DIR = tmp_path
    for name in ("SITE_URL", "ALLOWED_HOSTS"):
        monkeypatch.delenv(name, raising=False)
    return Serving(host, 8123, {"processes": 1}).environment()


def test_mail_of_a_trial_leads_to_where_it_listens(settings, tmp_path, monkeypatch):
    local = trial(settings, tmp_path, monkeypatch, "127.0.0.1")
    assert local["SITE_URL"] == "http://127.0.0.1:8123"
    assert "ALLOWED_HOSTS" not in local
    shared = trial(settings, tmp_path, monkeypatch, "0.0.0.0")
    assert shared["SITE_URL"] == f"http://{own_address()}:8123"
    assert shared["ALLOWED_HOSTS"] == "*"
    named = trial(settings, tmp_path, monkeypatch, "10.1.2.3")
    assert named["SITE_URL"] == "http://10.1.2.3:8123"
    assert named["ALLOWED_HOSTS"] == "10.1.2.3"


def test_an_address_that_was_set_stays(settings, tmp_path, monkeypatch):
    settings.VAR_DIR = tmp_path
    monkeypatch.setenv("SITE_URL", "https://scores.example.com")
    assert "SITE_URL" not in Serving("0.0.0.0", 8123, {"processes": 1}).environment()
