"""The caller of a request, by a name that is always the same for the same caller.

A name that holds personal data (an address, a user name, a key) is hashed with the site's secret,
so that Redis does not know the person. `user:42` is no personal data outside the database.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any
from unicodedata import normalize

from django.conf import settings
from django.http import HttpRequest
from django.utils.module_loading import import_string

IPAddress = IPv4Address | IPv6Address
Caller = Callable[[HttpRequest], str]

UNKNOWN = "unknown"
_FIELDS = ("username", "email")  # of a posted form
LONGEST_FIELD = 254


# ---- the client's address ------------------------------------------------------------------------


def client_ip(request: HttpRequest) -> str:
    """The client's address by the count of trusted proxies, in its one canonical spelling."""
    meta = request.META
    return client_address(meta.get("REMOTE_ADDR", ""), meta.get("HTTP_X_FORWARDED_FOR", ""))


def client_address(peer: str, forwarded_for: str, trusted_proxies: int | None = None) -> str:
    """The address that the outermost trusted proxy saw; for code without a Django request.

    Each proxy writes the address it was called from at the right end of X-Forwarded-For. With n
    trusted proxies the nth entry from the right is true; the client can make up everything further
    left. `Forwarded` is not read at all.
    """
    if trusted_proxies is None:
        trusted_proxies = settings.TRUSTED_PROXIES
    if trusted_proxies and forwarded_for:
        entries = forwarded_for.split(",")[-trusted_proxies:]
        for entry in entries:  # from the outermost trusted proxy inwards, until one is readable
            if address := canonical(entry):
                return address
    return canonical(peer) or UNKNOWN


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The one spelling of an address; empty when it is none."""
    return str(parse_address(text) or "")


def parse_address(text: str) -> IPAddress | None:
    """An address as proxies write it: with brackets, a port, a zone, or IPv4 inside IPv6."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def address_block(address: str) -> str:
    """One caller's addresses: an IPv4 address, or an IPv6 /64, which is one household."""
    parsed = parse_address(address)
    if isinstance(parsed, IPv6Address):
        return str(IPv6Network((int(parsed) >> 64 << 64, 64)))
    return str(parsed or UNKNOWN)


# ---- names ---------------------------------------------------------------------------------------


def hashed(kind: str, value: str) -> str:
    """`ip:3f9a…`: the same for the same value, and no way back."""
    digest = hmac.digest(settings.SECRET_KEY.encode(), f"{kind}:{value}".encode(), hashlib.sha256)
    return f"{kind}:{digest[:10].hex()}"


def fingerprint(api_key: str) -> str:
    """The name of an API key in exemptions; needs no secret, so that settings can contain it."""
    return hashlib.sha256(api_key.encode()).hexdigest()[:20]


@lru_cache(maxsize=8192)
def ip_name(address: str) -> str:
    return hashed("ip", address_block(address))


def user_name(user_id: Any) -> str:
    return f"user:{user_id}"


def api_key_name(api_key: str) -> str:
    return f"key:{fingerprint(api_key)}"


def field_name(name: str, value: str) -> str:
    # Case, spaces and look-alike spellings are no way around a limit, nor is length: no account
    # has a longer name or address.
    return hashed(name, normalize("NFKC", value[:LONGEST_FIELD]).strip().casefold())


def api_key_of(headers: Mapping[str, str]) -> str:
    """The API key a request carries, `Authorization: Bearer …` or `X-API-Key: …`; or empty."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    return bearer or headers.get("x-api-key", "").strip()


# ---- of a request --------------------------------------------------------------------------------


def _ip(request: HttpRequest) -> str:
    return ip_name(client_ip(request))


def _user(request: HttpRequest) -> str:
    """The signed-in user, or the address."""
    user = getattr(request, "user", None)
    return user_name(user.pk) if user is not None and user.is_authenticated else _ip(request)


def _session(request: HttpRequest) -> str:
    key = request.session.session_key if hasattr(request, "session") else None
    return hashed("session", key) if key else _ip(request)


def _api_key(request: HttpRequest) -> str:
    key = api_key_of(request.headers)
    return api_key_name(key) if key else _ip(request)


def _field(name: str) -> Caller:
    return lambda request: field_name(name, request.POST.get(name, ""))


_CALLERS: dict[str, Caller] = {
    "ip": _ip,
    "user": _user,
    "session": _session,
    "api_key": _api_key,
    "everyone": lambda request: "everyone",
} | {name: _field(name) for name in _FIELDS}
KNOWN = tuple(_CALLERS)


def find_caller(name: str) -> Caller:
    """The function behind a word of a policy; a dotted path is imported. Raises ImportError."""
    if name in _CALLERS:
        return _CALLERS[name]
    function: Caller = import_string(name)
    return function


def of(request: HttpRequest, by: Iterable[str]) -> str:
    """The caller of this request by the words of a policy: `of(request, ["ip", "username"])`."""
    return "+".join([find_caller(name)(request) for name in by])


def from_text(by: Iterable[str], text: str) -> str:
    """The same name from what staff type: `ip=203.0.113.7 username=ada`, or as lists show it.

    Raises ValueError with the expected form.
    """
    name = text.strip()
    if name and "=" not in name:
        return name
    values = dict(word.partition("=")[::2] for word in name.split())
    if set(values) != set(by):
        raise ValueError(_expected(by))
    return "+".join([_NAMES.get(word, str)(values[word]) for word in by])


def _expected(by: Iterable[str]) -> str:
    return "expected " + " ".join(f"{name}=…" for name in by) + ", or a name from the lists"


# Names from the values that staff type, by the words of a policy.
_NAMES: dict[str, Callable[[str], str]] = {
    "ip": ip_name,
    "user": user_name,
    "api_key": api_key_name,
    "session": partial(hashed, "session"),
    **{name: partial(field_name, name) for name in _FIELDS},
}
