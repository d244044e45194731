import pytest
from django.contrib.auth.models import Group, User

from config.redis.connections import get_redis
from ratelimit import callers, policies
from ratelimit.middleware import default_policy


@pytest.fixture(autouse=True)
def _policies(settings):
    settings.ROOT_URLCONF = "tests.ratelimit.urls"
    settings.RATE_LIMITS = {
        "page": "2/hour by ip, fixed window",
        "two": "2/hour by ip, fixed window",
        "wide": "100/hour by ip",
        "alone": "1 at once by ip",
    }
    settings.RATE_LIMIT_PREFIXES = {"/": "page", "/api/": None}
    policies.configure()


def override(settings, **sentences):
    settings.RATE_LIMITS = settings.RATE_LIMITS | sentences
    policies.configure()


def statuses(client, path, number=3, **kwargs):
    return [client.get(path, **kwargs).status_code for _ in range(number)]


def test_the_longest_prefix_decides(settings):
    settings.RATE_LIMIT_PREFIXES = {"/": "page", "/api/": None, "/api/v1/": "two"}
    assert default_policy("/boards/") == "page"
    assert default_policy("/api/docs") is None
    assert default_policy("/api/v1/boards") == "two"


def test_a_page_without_its_own_policy_has_that_of_its_prefix(client):
    assert statuses(client, "/plain/") == [200, 200, 429]
    assert client.get("/plain/")["RateLimit-Policy"] == '"page";q=2;w=3600'


async def test_it_does_the_same_under_asgi(async_client):
    answers = [(await async_client.get("/plain/")).status_code for _ in range(3)]
    assert answers == [200, 200, 429]


def test_a_policy_of_the_view_is_asked_too(client):
    both = '"page";q=2;w=3600, "two";q=2;w=3600'
    assert client.get("/sync/")["RateLimit-Policy"] == both
    assert statuses(client, "/sync/", 2) == [200, 429]


def test_a_request_that_the_views_policy_does_not_mean_has_that_of_the_prefix(client, settings):
    override(settings, page="100/hour by ip, fixed window")
    page, two = '"page";q=100;w=3600', '"two";q=2;w=3600'
    assert client.get("/post/")["RateLimit-Policy"] == page
    assert client.post("/post/")["RateLimit-Policy"] == f"{page}, {two}"
    assert client.get("/search/?q=x")["RateLimit-Policy"] == f"{page}, {two}"
    assert client.get("/search/")["RateLimit-Policy"] == page


@pytest.mark.parametrize("path", ["/nothing/", "/plain", "/static/nothing.css"])
def test_an_address_where_nothing_is_counts_like_a_page(client, path):
    assert statuses(client, path)[2] == 429
    assert statuses(client, "/plain/", 1) == [429]


def test_an_unknown_host_counts_too(client):
    answers = statuses(client, "/plain/", headers={"host": "evil.example"})
    assert answers == [400, 400, 429]


def test_callers_are_told_apart_by_address(client):
    assert statuses(client, "/plain/", REMOTE_ADDR="203.0.113.1") == [200, 200, 429]
    assert statuses(client, "/plain/", REMOTE_ADDR="203.0.113.2") == [200, 200, 429]


def test_each_policy_asks_redis_once(client, redis_client, settings):
    override(settings, page="100/hour by ip", two="100/hour by ip")
    client.get("/sync/")

    def commands():
        stats = redis_client.info("commandstats")
        own = {"cmdstat_info", "cmdstat_config|resetstat"}
        # What a script calls inside Redis is no round trip.
        inside = {"cmdstat_time", "cmdstat_get", "cmdstat_set"}
        return sum(stat["calls"] for name, stat in stats.items() if name not in own | inside)

    redis_client.config_resetstat()
    client.get("/sync/")
    assert commands() == 2
    redis_client.config_resetstat()
    client.get("/plain/")
    assert commands() == 1


@pytest.mark.parametrize("network", ["203.0.113.0/24", "2001:db8::/32"])
def test_a_network_can_be_exempt(client, settings, network):
    override(settings, page=f"1/hour by ip, exempt network {network}")
    inside = "203.0.113.9" if "." in network else "2001:db8::9"
    assert statuses(client, "/plain/", REMOTE_ADDR=inside) == [200, 200, 200]
    assert statuses(client, "/plain/", REMOTE_ADDR="198.51.100.1") == [200, 429, 429]


def test_an_api_key_can_be_exempt(client, settings):
    override(settings, page=f"1/hour by ip, exempt key {callers.fingerprint('rk_mine')}")
    mine, other = ({"authorization": f"Bearer {key}"} for key in ("rk_mine", "rk_other"))
    assert statuses(client, "/plain/", headers=mine) == [200, 200, 200]
    assert statuses(client, "/plain/", headers=other) == [200, 429, 429]


@pytest.mark.django_db
def test_a_group_can_be_exempt(client, settings):
    override(settings, page="1/hour by ip, exempt group trusted")
    user = User.objects.create_user("ada")
    user.groups.add(Group.objects.create(name="trusted"))
    client.force_login(user)
    assert statuses(client, "/plain/") == [200, 200, 200]
    client.logout()
    assert statuses(client, "/plain/") == [200, 429, 429]


@pytest.mark.django_db(transaction=True)
async def test_users_are_told_apart_under_asgi_too(async_client, settings):
    override(settings, page="1/hour by user, exempt group trusted")
    user = await User.objects.acreate(username="ada")
    assert [(await async_client.get("/plain/")).status_code for _ in range(2)] == [200, 429]
    await async_client.aforce_login(user)
    assert [(await async_client.get("/plain/")).status_code for _ in range(2)] == [200, 429]


def cost_of(request):
    return int(request.GET.get("cost", "1"))


def test_the_cost_can_come_from_the_request(client, settings):
    override(settings, page=f"5/hour by ip, fixed window, cost {__name__}.cost_of")
    assert client.get("/plain/?cost=4")["RateLimit"].startswith('"page";r=1;')
    assert client.get("/plain/?cost=2").status_code == 429
    assert client.get("/plain/?cost=1").status_code == 200


def test_keys_in_redis_hold_no_address(client):
    client.get("/plain/", REMOTE_ADDR="203.0.113.77")
    assert not any(b"203.0.113" in key for key in get_redis().scan_iter())
