"""Reading boards: pages, neighbours, players, and answers that are given again."""

from urllib.parse import quote

import msgspec
import pytest

from leaderboard.api.hot import reads
from leaderboard.boards import moderation, scores
from leaderboard.closing import seasons
from leaderboard.entries import Entry
from tests.leaderboard.support import ACTOR, open_board, submit

PLAYERS = 25


@pytest.fixture
def full(board):
    """p25 stands first, p1 last; details on each."""
    rows = [
        scores.Submission(f"p{n}", float(n), metadata={"name": f"Player {n}"})
        for n in range(1, PLAYERS + 1)
    ]
    scores.submit_scores(board=board, rows=rows)
    return board


def players(answer):
    return [entry["player"] for entry in answer.json()["entries"]]


def test_a_page_of_entries(api, full):
    answer = api.get("boards/cup/entries?limit=3")
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["entries"][0] == {
        "rank": 1,
        "player": "p25",
        "score": 25.0,
        "details": {"name": "Player 25"},
    }
    assert {name: body[name] for name in ("board", "season", "window", "sequence", "total")} == {
        "board": "cup",
        "season": 1,
        "window": "season",
        "sequence": PLAYERS + 1,
        "total": PLAYERS,
    }


def test_the_cursor_leads_through_all_pages(api, full):
    seen, path = [], "boards/cup/entries?limit=10"
    while path:
        body = api.get(path).json()
        seen += [entry["rank"] for entry in body["entries"]]
        path = body["next"] and f"boards/cup/entries?limit=10&cursor={body['next']}"
    assert seen == list(range(1, PLAYERS + 1))


def test_a_window_has_its_own_entries(api, full):
    assert players(api.get("boards/cup/entries?window=day&limit=2")) == ["p25", "p24"]
    assert api.get("boards/cup/entries?window=day&period=2020-01-01").json()["total"] == 0
    unknown = api.get("boards/cup/entries?window=month")
    assert (unknown.status_code, unknown.json()["code"]) == (422, "unknown_window")
    for period in ("2020-99", "20200101", "2020-1-1%0D"):
        for path in ("entries", "distribution"):
            wrong = api.get(f"boards/cup/{path}?window=day&period={period}")
            assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_value")


def test_around_a_player_and_around_a_rank(api, full):
    assert players(api.get("boards/cup/entries/around/p13?count=3")) == ["p14", "p13", "p12"]
    assert players(api.get("boards/cup/entries/around-rank/13?count=3")) == ["p14", "p13", "p12"]
    assert len(players(api.get("boards/cup/entries/around/p1"))) == 11
    missing = api.get("boards/cup/entries/around/nobody")
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_player")


def test_a_player_with_percentile_and_neighbours(api, full):
    body = api.get("boards/cup/players/p25?neighbours=1").json()
    assert body["entry"]["rank"] == 1
    assert body["percentile"] == 100.0
    assert [entry["player"] for entry in body["neighbours"]] == ["p25", "p24", "p23"]
    assert api.get("boards/cup/players/p2?neighbours=0").json()["neighbours"] == []
    missing = api.get("boards/cup/players/nobody")
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_player")


def test_scores_in_a_range(api, full):
    answer = api.get("boards/cup/entries/range?low=5&high=8&limit=3")
    assert players(answer) == ["p8", "p7", "p6"]
    assert answer.json()["total"] == 4
    rest = api.get(f"boards/cup/entries/range?low=5&high=8&limit=3&cursor={answer.json()['next']}")
    assert players(rest) == ["p5"]
    assert (rest.json()["total"], rest.json()["next"]) == (4, None)
    exact = api.get("boards/cup/entries/range?low=5&high=8&limit=4").json()
    assert (len(exact["entries"]), exact["next"]) == (4, None)
    beyond = api.get("boards/cup/entries/range?low=5&offset=99").json()
    assert (beyond["total"], beyond["entries"], beyond["next"]) == (21, [], None)
    wrong = api.get("boards/cup/entries/range?low=9&high=8")
    assert (wrong.status_code, wrong.json()["field"]) == (422, "low")


def test_friends_among_themselves(api, full):
    body = api.post("boards/cup/entries/among", {"players": ["p3", "nobody", "p9"]}).json()
    assert [(one["rank"], one["board_rank"], one["player"]) for one in body["entries"]] == [
        (1, 17, "p9"),
        (2, 23, "p3"),
    ]
    assert body["missing"] == ["nobody"]


def test_other_friends_have_another_etag(api, full):
    path = "boards/cup/entries/among"
    known = {"If-None-Match": api.post(path, {"players": ["p3", "p9"]}).headers["etag"]}
    assert api.post(path, {"players": ["p3", "p9"]}, headers=known).status_code == 304
    assert api.post(path, {"players": ["p3", "p7"]}, headers=known).status_code == 200


def test_a_group_is_ranked_by_itself(api, db):
    board = open_board(groups=["country"])
    for player, score, country in (("ada", 3, "GB"), ("lin", 2, "CN"), ("bo", 1, "GB")):
        submit(board, player, score, details={"country": country})
    body = api.get("boards/cup/groups/country/GB/entries").json()
    assert [(one["rank"], one["player"]) for one in body["entries"]] == [(1, "ada"), (2, "bo")]
    assert body["total"] == 2
    unknown = api.get("boards/cup/groups/team/x/entries")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_group")


def test_the_distribution_counts_everybody(api, full):
    bins = api.get("boards/cup/distribution?bins=5").json()["bins"]
    assert sum(one["count"] for one in bins) == PLAYERS
    assert bins[0]["low"] == 1.0
    assert bins[-1]["high"] == 25.0


def test_a_board_with_its_season(api, full):
    body = api.get("boards/cup").json()
    assert (body["slug"], body["windows"], body["size"]) == ("cup", ["day", "week"], PLAYERS)
    assert body["season"]["number"] == 1
    assert body["season"]["state"] == "open"
    assert body["online"] == 0


def test_presence_counts(api, full):
    assert api.get("boards/cup/presence").json() == {"board": "cup", "online": 0, "players": []}


def test_past_seasons_and_their_standings(api, full):
    seasons.close_season(board=full, actor=ACTOR)
    (season,) = api.get("boards/cup/seasons").json()["seasons"]
    assert (season["number"], season["entries"]) == (1, PLAYERS)
    assert [entry["player"] for entry in season["podium"]] == ["p25", "p24", "p23"]
    body = api.get("boards/cup/seasons/1/standings?limit=10&page=3").json()
    assert (body["page"], body["pages"], body["total"]) == (3, 3, PLAYERS)
    assert players(api.get("boards/cup/seasons/1/standings?limit=10&page=3"))[-1] == "p1"
    missing = api.get("boards/cup/seasons/9/standings")
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_season")


def test_a_players_history_is_empty_until_it_is_stored(api, full):
    assert api.get("boards/cup/players/p1/history").json()["events"] == []


# ---- answers given again -------------------------------------------------------------------------

CACHED = [
    "boards/cup/entries",
    "boards/cup/entries?window=day",
    "boards/cup/entries/around/p3",
    "boards/cup/players/p3",
    "boards/cup",
    "boards/cup/entries/around-rank/3",
    "boards/cup/distribution",
    "boards/cup/seasons",
]


@pytest.mark.parametrize("path", CACHED)
def test_an_unchanged_answer_is_not_sent_again(api, full, path):
    first = api.get(path)
    again = api.call("GET", path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize("path", CACHED[:-1])
def test_a_change_makes_another_etag(api, full, path):
    before = api.get(path)
    submit(full, "p3", 1000)
    after = api.call("GET", path, headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    assert after.headers["etag"] != before.headers["etag"]


def test_reads_that_come_together_are_asked_once(api, full, monkeypatch):
    questions = []
    batch = reads.Batch

    def counted(calls):
        questions.append(len(calls))
        return batch(calls)

    monkeypatch.setattr(reads, "Batch", counted)
    answers = api.together([("GET", "boards/cup/entries?limit=5")] * 30)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert sum(questions) < 8


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_used_again_only_while_nothing_changed(api, full):
    async def read_write_read():
        import httpx
        from asgiref.sync import sync_to_async

        from config.redis.connections import close_async_redis

        transport = httpx.ASGITransport(app=api.app)
        headers = {"Authorization": f"Bearer {api.token}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as client:
            path = "/api/v1/boards/cup/entries?limit=1"
            first = await client.get(path)
            same = await client.get(path)
            await sync_to_async(submit)(full, "new", 99)
            changed = await client.get(path)
            await sync_to_async(moderation.hide_player)(
                player_id="new", reason="x", actor=ACTOR, board=full
            )
            hidden = await client.get(path)
            await sync_to_async(seasons.close_season)(board=full, actor=ACTOR, open_next=True)
            another = await client.get(path)
            await close_async_redis()
            return [answer.json() for answer in (first, same, changed, hidden, another)]

    from asgiref.sync import async_to_sync

    first, same, changed, hidden, another = async_to_sync(read_write_read)()
    assert first == same
    assert changed["entries"][0]["player"] == "new"
    assert hidden["entries"] == first["entries"]
    assert (another["season"], another["entries"]) == (2, [])


@pytest.mark.parametrize("ranking", ["ordinal", "competition", "dense"])
@pytest.mark.parametrize("subscore_order", ["", "asc"])
def test_the_hot_reads_show_what_the_engine_reads(api, db, ranking, subscore_order):
    board = open_board(ranking=ranking, subscore_order=subscore_order)
    for number in range(12):
        submit(
            board,
            f"p/{number} \N{FIRE}",
            0.1 * (number // 3) - 1e300 * (number == 11),
            subscore=float(number % 2) if subscore_order else None,
            details={"avatar": 'https://a.example/\\x"y', "b\\/": ""} if number % 4 else None,
        )
    engine = board.engine()
    everybody = [msgspec.to_builtins(Entry.of(one)) for one in engine.list_all()]
    assert api.get("boards/cup/entries").json()["entries"] == everybody
    for one in everybody:
        name = quote(one["player"], safe="")
        around = api.get(f"boards/cup/entries/around/{name}?count=5").json()["entries"]
        near = engine.get_around_user(one["player"], 5)
        assert around == [msgspec.to_builtins(Entry.of(e)) for e in near]
        shown = api.get(f"boards/cup/players/{name}").json()
        assert (shown["entry"], shown["neighbours"]) == (one, around)
        assert shown["percentile"] == engine.get_percentile(one["player"])
    assert api.get("boards/cup/entries?offset=9007199254740991").json()["entries"] == []


def test_many_reads_at_once_are_asked_for_in_portions(api, full, monkeypatch):
    monkeypatch.setattr(reads, "ROWS_PER_CALL", 10)
    calls = [("GET", f"boards/cup/entries/around/p{n}?count={n % 7 + 1}") for n in range(1, 26)]
    answers = api.together([*calls, ("GET", "boards/cup/entries?window=day&limit=20")])
    for (_, path), answer in zip(calls, answers, strict=False):
        assert answer.json()["entries"] == api.get(path).json()["entries"]
    assert len(answers[-1].json()["entries"]) == 20


@pytest.mark.parametrize("encoding", ["br", "gzip"])
@pytest.mark.parametrize("path", ["entries", "entries/around-rank/1?count=101"])
def test_large_answers_are_compressed(api, full, path, encoding):
    plain = api.call("GET", f"boards/cup/{path}", headers={"Accept-Encoding": "identity"})
    small = api.call("GET", f"boards/cup/{path}", headers={"Accept-Encoding": encoding})
    assert "content-encoding" not in plain.headers
    assert small.headers["content-encoding"] == encoding
    assert int(small.headers["content-length"]) < len(plain.content) / 2
    assert small.json() == plain.json()
    assert "Accept-Encoding" in small.headers["vary"]


def test_the_store_of_answers_is_bounded():
    store = reads.Store(most=3, largest=100)
    for number in range(10):
        store.put(b"%d" % number, reads.Kept(b"x" * 10, "v", 1, 1, 1, "tag"))
    assert len(store) == 3
    store.put(b"big", reads.Kept(b"x" * 95, "v", 1, 1, 1, "tag"))
    assert len(store) == 1


# ---- bad queries ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("entries?limit=0", "limit"),
        ("entries?limit=1001", "limit"),
        ("entries?limit=x", "limit"),
        ("entries?limit=1e3", "limit"),
        ("entries?offset=-1", "offset"),
        ("entries?offset=99999999999999999999", "offset"),
        ("entries?cursor=nonsense", "cursor"),
        ("entries?window=year", "window"),
        ("entries/around/p1?count=0", "count"),
        ("entries/around/p1?count=102", "count"),
        ("players/p1?neighbours=51", "neighbours"),
        ("entries/around-rank/0", "rank"),
        ("entries/around-rank/x", "rank"),
        ("entries/range?low=nan", "low"),
        ("entries/range?high=1e400", "high"),
        ("distribution?bins=0", "bins"),
        ("distribution?bins=101", "bins"),
        ("seasons/0/standings", "number"),
        ("seasons/1/standings?page=0", "page"),
        ("players/p1/history?limit=0", "limit"),
    ],
)
def test_a_bad_query_names_its_field(api, full, path, field):
    answer = api.get(f"boards/cup/{path}")
    problem = answer.json()
    assert (answer.status_code, problem["field"]) == (422, field), problem
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["players/%ff", "entries/around/%ff", "players/" + "x" * 300])
def test_a_bad_id_in_the_address_is_refused(api, full, path):
    answer = api.get(f"boards/cup/{path}")
    assert answer.status_code in (404, 422)
    assert answer.json()["code"]
