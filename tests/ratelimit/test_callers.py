import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import RequestFactory

from ratelimit import callers

PEER = "198.51.100.9"


def request(forwarded="", peer=PEER, **headers):
    meta = {"REMOTE_ADDR": peer} | headers
    if forwarded:
        meta["HTTP_X_FORWARDED_FOR"] = forwarded
    return RequestFactory().get("/", **meta)


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, "", PEER),
        (0, "203.0.113.7", PEER),  # nobody of ours wrote that
        (1, "203.0.113.7", "203.0.113.7"),
        (1, "1.1.1.1, 203.0.113.7", "203.0.113.7"),  # the left part is the client's invention
        (1, "1.1.1.1,2.2.2.2 , 203.0.113.7", "203.0.113.7"),
        (2, "1.1.1.1, 203.0.113.7, 10.0.0.1", "203.0.113.7"),
        (2, "10.0.0.1", "10.0.0.1"),  # fewer entries than proxies: the outermost there is
        (1, "", PEER),
        (1, "203.0.113.7:4711", "203.0.113.7"),
        (1, "[2001:DB8:0:0::1]:443", "2001:db8::1"),
        (1, "2001:db8::1%eth0", "2001:db8::1"),
        (1, "::ffff:203.0.113.7", "203.0.113.7"),
        (1, "unknown", PEER),
        (2, "unknown, 10.0.0.1", "10.0.0.1"),
        (1, "<script>", PEER),
    ],
)
def test_the_address_is_the_one_the_outermost_trusted_proxy_saw(
    settings, proxies, forwarded, expected
):
    settings.TRUSTED_PROXIES = proxies
    assert callers.client_ip(request(forwarded)) == expected


@pytest.mark.parametrize("proxies", [0, 1])
def test_a_spoofing_caller_stays_the_same_caller(settings, proxies):
    settings.TRUSTED_PROXIES = proxies
    true = "203.0.113.7"
    honest = request(true)
    names = {
        callers.of(spoofed, ["ip"])
        for spoofed in (
            honest,
            request(f"1.2.3.4, {true}"),
            request(f"{true}, {true}"),
            request(f", ,{true}"),
            request(true, HTTP_FORWARDED="for=1.2.3.4;proto=https"),
            request(true, HTTP_X_REAL_IP="1.2.3.4"),
            request(true, HTTP_CLIENT_IP="1.2.3.4"),
        )
    }
    assert len(names) == 1


def test_every_spelling_of_an_address_is_one_caller():
    spellings = [
        "2001:db8::1",
        "2001:DB8::1",
        "2001:0db8:0000:0000:0000:0000:0000:0001",
        "2001:db8:0:0:0:0:0:1",
        "[2001:db8::1]:80",
        "2001:db8::1%0",
        "2001:db8::ffff:1",  # the same household's /64
    ]
    assert len({callers.ip_name(spelling) for spelling in spellings}) == 1
    assert callers.ip_name("2001:db8:0:1::1") != callers.ip_name("2001:db8::1")
    assert callers.ip_name("::ffff:203.0.113.7") == callers.ip_name("203.0.113.7")
    assert callers.ip_name("203.0.113.8") != callers.ip_name("203.0.113.7")


def test_a_socket_without_an_address_is_a_caller_too():
    assert callers.client_ip(request(peer="")) == callers.UNKNOWN


def test_personal_data_is_hashed_with_the_sites_secret(settings):
    name = callers.ip_name("203.0.113.7")
    assert "203" not in name.removeprefix("ip:")
    callers.ip_name.cache_clear()
    settings.SECRET_KEY = "another"
    assert callers.ip_name("203.0.113.7") != name
    callers.ip_name.cache_clear()


def test_a_user_is_known_by_the_account_and_a_stranger_by_the_address():
    signed_in, stranger = request(), request()
    signed_in.user, stranger.user = User(pk=42), AnonymousUser()
    assert callers.of(signed_in, ["user"]) == "user:42"
    assert callers.of(stranger, ["user"]) == callers.ip_name(PEER)


def test_a_key_is_taken_from_either_header():
    bearer = request(HTTP_AUTHORIZATION="Bearer rk_secret")
    header = request(HTTP_X_API_KEY="rk_secret")
    assert callers.of(bearer, ["api_key"]) == callers.of(header, ["api_key"])
    assert "rk_secret" not in callers.of(bearer, ["api_key"])
    assert callers.of(request(HTTP_AUTHORIZATION="Basic abc"), ["api_key"]) == callers.ip_name(PEER)


def test_case_and_spaces_in_a_user_name_are_no_way_around():
    names = {
        callers.of(RequestFactory().post("/", {"username": name}), ["username"])
        for name in ("ada", "ADA", " Ada ", "\uff21\uff44\uff41")
    }
    assert len(names) == 1


def shard(request):
    return "shard-7"


def test_any_function_can_name_the_caller():
    assert callers.of(request(), [f"{__name__}.shard", "everyone"]) == "shard-7+everyone"


def test_staff_can_spell_a_caller_out():
    posted = RequestFactory().post("/", {"username": "ada"}, REMOTE_ADDR=PEER)
    by = ["ip", "username"]
    assert callers.from_text(by, f"username=Ada ip={PEER}") == callers.of(posted, by)
    assert callers.from_text(by, "ip:abc+username:def") == "ip:abc+username:def"
    for text in ("", "ip=1.1.1.1", "user=3"):
        with pytest.raises(ValueError, match="ip=… username=…"):
            callers.from_text(by, text)
