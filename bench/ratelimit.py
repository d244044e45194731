"""Rate limits: every algorithm against an empty function, the local shield, a limited view, and the
other libraries, everybody against a bare INCR on the client they use.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import others
from bench.floors import EMPTY
from bench.harness import Comparison, Report, compare, duration, own_server
from ratelimit.algorithms import TIMED, Algorithm
from ratelimit.limiter import Limiter
from ratelimit.policy import Limit, Policy
from ratelimit.shield import Shield
from tests.servers import RedisServer

ROOT = Path(__file__).resolve().parent.parent
PLENTY = 100_000  # allowed calls never meet it, and a log of it still fits
ROUNDS = 21


def run(report: Report) -> None:
    with own_server() as server, server.client() as client:
        _against_an_empty_function(report, client)
        ours = _against_incr(client)
        peers = others.measured("rate_limiters", server.port, ROUNDS)
    _beside_the_peers(report, ours, peers)
    _limited_view(report)


def _policy(algorithm: Algorithm, count: int) -> Policy:
    # A name per count keeps the states of the two apart.
    return Policy(f"bench_{algorithm}_{count}", (Limit(count, 3600, algorithm),))


def _allowed(limiter: Limiter, algorithm: Algorithm) -> Callable[[], Any]:
    """Hits that are let through; the sliding log starts again before it is full."""
    policy = _policy(algorithm, PLENTY)

    def hit() -> None:
        if not limiter.hit(policy, "caller"):
            limiter.reset(policy, "caller")

    return hit


def _denied(limiter: Limiter, algorithm: Algorithm) -> Callable[[], Any]:
    policy = _policy(algorithm, 1)
    limiter.hit(policy, "caller")
    return lambda: limiter.hit(policy, "caller")


def _at_once(limiter: Limiter) -> Callable[[], Any]:
    policy = _policy(Algorithm.AT_ONCE, 10)
    return lambda: limiter.hit(policy, "caller", lease="one")


def _against_an_empty_function(report: Report, client: Any) -> None:
    limiter = Limiter(client)
    two = Policy("bench_two", (Limit(PLENTY, 60), Limit(PLENTY, 86400, Algorithm.GCRA)))
    contestants: dict[str, Callable[[], Any]] = {"empty function": lambda: EMPTY(client, [])}
    for algorithm in TIMED:
        contestants[algorithm.words] = _allowed(limiter, algorithm)
        contestants[f"{algorithm.words}, denied"] = _denied(limiter, algorithm)
    contestants["at once"] = _at_once(limiter)
    contestants["two limits in one call"] = lambda: limiter.hit(two, "caller")
    result = compare(contestants, rounds=ROUNDS)
    # A pair of its own: work without a wait and work with one feel a busy machine differently.
    shielded = _denied(Limiter(client, shield=Shield()), Algorithm.GCRA)
    pair = {"empty function": contestants["empty function"], "local shield": shielded}
    shield = compare(pair, rounds=3 * ROUNDS, round_seconds=0.01)
    marks = {"empty function": None, "two limits in one call": None}
    report.table(
        ["one thread, one CPU", "calls/s", "ratio to an empty FCALL"],
        [
            [
                name,
                f"{result.per_second(name):,.0f}",
                _mark(report, name, result, "empty function", marks.get(name, 0.75)),
            ]
            for name in contestants
        ]
        + [
            [
                "local shield",
                f"{shield.per_second('local shield'):,.0f}",
                _mark(report, "local shield", shield, "empty function", 50),
            ]
        ],
    )


def _mark(report: Report, name: str, result: Comparison, base: str, least: float | None) -> str:
    ratio = result.speed_ratio(name, base)
    return f"{ratio:.2f}" if least is None else report.verdict(name, ratio, at_least=least)


def _against_incr(client: Any) -> dict[str, float]:
    limiter = Limiter(client)
    contestants: dict[str, Callable[[], Any]] = {"INCR": lambda: client.incr("bench:incr")}
    for algorithm in TIMED:
        contestants[f"{algorithm} allowed"] = _allowed(limiter, algorithm)
        contestants[f"{algorithm} denied"] = _denied(limiter, algorithm)
    result = compare(contestants, rounds=ROUNDS)
    return {name: result.speed_ratio(name, "INCR") for name in contestants}


# ---- the others ----------------------------------------------------------------------------------


def _beside_the_peers(
    report: Report, ours: dict[str, float], peers: dict[str, dict[str, float]]
) -> None:
    rows = []
    for algorithm in TIMED:
        for outcome in ("allowed", "denied"):
            what = f"{algorithm} {outcome}"
            theirs = {name: ratios[what] for name, ratios in peers.items() if what in ratios}
            best = max(theirs.values(), default=None)
            level = "no other has it"
            if best is not None:
                level = report.verdict(f"beside the best, {what}", ours[what] / best, at_least=0.95)
            rows.append(
                [
                    f"{algorithm.words}, {outcome}",
                    f"{ours[what]:.2f}",
                    *(f"{theirs[name]:.2f}" if name in theirs else "" for name in peers),
                    level,
                ]
            )
    report.table(["ratio to a bare INCR", "ours", *peers, "ours to the best of them"], rows)


# ---- a view --------------------------------------------------------------------------------------


def _limited_view(report: Report) -> None:
    """The same view with and without `@limit`, and how often it asked Redis."""
    with own_server() as server:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "REDIS_URL": server.url}
        import django

        django.setup()
        from django.conf import settings
        from django.http import HttpResponse
        from django.test import RequestFactory

        from config.redis.connections import get_redis
        from ratelimit import policies
        from ratelimit.decorators import limit

        settings.RATE_LIMIT_SYNC_SECONDS = 0
        settings.RATE_LIMITS = {"page": "1000000/second by ip, token bucket"}
        settings.RATE_LIMIT_PREFIXES = {}
        policies.configure()

        def view(request: Any) -> HttpResponse:
            return HttpResponse("ok")

        limited = limit("page")(view)
        factory = RequestFactory()
        client = get_redis("limits")
        result = compare(
            {
                "without a limit": lambda: view(factory.get("/")),
                "with @limit": lambda: limited(factory.get("/")),
                "one round trip, FCALL of an empty function": lambda: EMPTY(client, []),
            },
            rounds=ROUNDS,
        )
        client.config_resetstat()
        limited(factory.get("/"))
        asked = client.info("commandstats")["cmdstat_fcall"]["calls"]
        connections = client.info("stats")["total_connections_received"]
        assert connections == 0, "a limited view opens no connection"
        silent, gone = _slowest_without_redis(server)
    report.table(
        ["a view, its request made by hand", "time"],
        [[name, duration(result.median(name))] for name in result.seconds],
    )
    verdict = report.verdict("round trips of a limited view", asked, at_most=1)
    report.line(f"Round trips of a limited view: {verdict}\n")
    report.table(
        ["Redis is away", "slowest of 200 decisions", "ms"],
        [
            [what, duration(seconds), report.verdict(what, seconds * 1000, at_most=100)]
            for what, seconds in (("it does not answer", silent), ("it is not there", gone))
        ],
    )


def _slowest_without_redis(server: RedisServer) -> tuple[float, float]:
    """Seconds of the slowest decision when the server is stopped in its tracks, and when killed."""
    from ratelimit import guard

    logging.getLogger("rostrum.ratelimit").setLevel(logging.CRITICAL)

    def slowest() -> float:
        guard.breaker.succeeded()
        times = []
        for _ in range(200):
            start = time.perf_counter()
            guard.hit("page", "caller")
            times.append(time.perf_counter() - start)
        return max(times)

    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    silent = slowest()
    server.process.send_signal(signal.SIGCONT)
    server.stop(kill=True)
    return silent, slowest()
