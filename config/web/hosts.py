"""Which hosts and schemes are served, for code that answers before Django."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.http.request import split_domain_port, validate_host

LONGEST_HOST = 261  # a name of 255 characters, and a port


def is_allowed(headers: dict[bytes, bytes], scheme: str) -> bool:
    """Whether Django would serve this host over this scheme; if not, let Django refuse it."""
    host = headers.get(b"host", b"")
    return len(host) <= LONGEST_HOST and _is_allowed(
        host, scheme, headers.get(b"x-forwarded-proto", b"")[:LONGEST_HOST]
    )


@lru_cache(maxsize=256)
def _is_allowed(host: bytes, scheme: str, forwarded_scheme: bytes) -> bool:
    domain, _ = split_domain_port(host.decode("latin-1").lower())
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    if not settings.SECURE_SSL_REDIRECT or scheme == "https":
        return True
    trusted = settings.SECURE_PROXY_SSL_HEADER
    return trusted is not None and forwarded_scheme.decode("latin-1") == trusted[1]
