"""A client who takes nothing is dropped, whatever was to be sent."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import free_port, wait_for

ROOT = Path(__file__).resolve().parents[3]

# A server whose answers are larger than all buffers on the way.
SERVER = """
from config.web import sending, server
sending.STALLED = 1.0
server.serve("127.0.0.1", {port}, 1, "tests.config.web.large:application")
"""


@pytest.fixture
def port():
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER.format(port=port)], cwd=ROOT, start_new_session=True
    )
    try:
        wait_for(lambda: answers(port), timeout=60)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def answers(port):
    try:
        with ask(port, b"/small") as client:
            return client.recv(12) == b"HTTP/1.1 200"
    except OSError:
        return False


def ask(port, path):
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(20)
    client.connect(("127.0.0.1", port))
    client.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client


def is_open(port):
    """Whether the server still has a connection with anything to send."""
    server = f"0100007F:{port:04X}"
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[1] == server and row[4].split(":")[0] != "00000000" for row in rows)


def is_ended(port, path):
    """Whether somebody who asks and reads nothing loses the connection."""
    with ask(port, path):
        wait_for(lambda: is_open(port), timeout=20)
        try:
            return wait_for(lambda: not is_open(port), timeout=10)
        except AssertionError:
            return False


@pytest.mark.skipif(sys.platform != "linux", reason="needs TCP_USER_TIMEOUT")
@pytest.mark.parametrize("path", [b"/whole", b"/pieces"])
def test_the_kernel_ends_a_connection_that_makes_no_progress(port, path):
    # The first may come in the very moment in which the server begins to listen.
    assert is_ended(port, path) or is_ended(port, path)
    assert answers(port)


def test_a_head_over_16_kilobytes_is_431(port):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 17 * 1024
        client.sendall(head + b"\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 431"


def test_nobody_speaks_http_2(port):
    """One connection would be as many clients as it likes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        assert client.recv(100)[:9] in (b"", b"HTTP/1.1 ")
