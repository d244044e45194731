"""The addresses at which a trial can be opened, on this machine and from others."""

from __future__ import annotations

import contextlib
import ipaddress
import socket

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 only compared
# One address in each network that an office or a home may use, and one outside. Nothing is sent
# there: connecting only selects the own address to send from.
_PROBES = ("198.51.100.1", "10.255.255.254", "172.31.255.254", "192.168.255.254", "2001:db8::1")


def local(host: str) -> str:
    """The host by which this machine reaches a server that listens on `host`."""
    return EVERYWHERE.get(host, host)


def url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def for_others(host: str, port: int) -> list[str]:
    """The addresses that other machines can open; none when the server listens on loopback."""
    if host not in EVERYWHERE:
        return [] if _is_loopback(host) else [url(host, port)]
    # A server on :: answers over IPv4 too.
    probes = [probe for probe in _PROBES if host == "::" or ":" not in probe]
    found = dict.fromkeys(own for probe in probes if (own := _sent_from(probe)))
    return [url(own, port) for own in found]


def _sent_from(address: str) -> str:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))
        own = str(probe.getsockname()[0])
        if not _is_loopback(own):
            return own
    return ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
