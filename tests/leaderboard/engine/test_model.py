"""The engine and a model in plain Python take the same steps and must always agree."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from leaderboard import RedisLeaderboard
from leaderboard.engine.errors import LeaderboardError, RowsRefusedError
from tests.leaderboard.engine.model import Model

KEY = "leaderboard:{model}"
IDS = st.sampled_from(["a", "b", "c:d", "{e}", "é", "Z z", "🏆", "b\0\n\x7f"])
SCORES = st.one_of(
    st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.1, -0.0, 2.0**53, -(2.0**53), 1e300, 5e-324]),
    st.floats(allow_nan=False, allow_infinity=False, width=64, min_value=-1e15, max_value=1e15),
)
SUBSCORES = st.sampled_from([None, 0.0, 1.0, -2.5, 1e9])
DETAILS = st.dictionaries(
    st.sampled_from(["team", "name", "country"]),
    st.sampled_from(["", "x", "xy", "ö", None, True]),
    max_size=3,
)
KEYS = st.sampled_from([None, None, None, "k1", "k2"])
OPERATORS = st.sampled_from([None, "set", "best", "sum"])


class Boards(RuleBasedStateMachine):
    def __init__(self, backend):
        super().__init__()
        self.backend = backend

    @initialize(
        order=st.sampled_from(["desc", "asc"]),
        operator=st.sampled_from(["set", "best", "sum"]),
        ties=st.sampled_from(["earliest", "latest", "member"]),
        ranking=st.sampled_from(["ordinal", "competition", "dense"]),
        subscore=st.sampled_from([None, None, "desc", "asc"]),
        limit=st.sampled_from([None, 1, 2, 3, 5]),
        seasoned=st.booleans(),
        grouped=st.booleans(),
        bounded=st.booleans(),
        live=st.booleans(),
        decode=st.booleans(),
        simple=st.booleans(),
    )
    def start(
        self,
        order,
        operator,
        ties,
        ranking,
        subscore,
        limit,
        seasoned,
        grouped,
        bounded,
        live,
        decode,
        simple,
    ):
        if simple:  # a plain board, which `plain.lua` writes
            ties, ranking, subscore = "member", "ordinal", None
            seasoned = grouped = bounded = live = False
        self.client = self.backend.client(decode_responses=decode)
        self.client.flushall()
        rules = {
            "order": order,
            "operator": operator,
            "ties": ties,
            "ranking": ranking,
            "subscore": subscore,
        }
        bounds = {"lowest": -50.0, "highest": 1e9, "largest_step": 1e6} if bounded else {}
        groups = ("team", "country") if grouped else ()
        windows = ("month", "all") if seasoned else ()
        self.model = Model(
            **rules,
            limit=limit,
            groups=groups,
            lowest=bounds.get("lowest"),
            highest=bounds.get("highest"),
            largest_step=bounds.get("largest_step"),
            windows=len(windows),
        )
        self.board = RedisLeaderboard(
            self.client,
            KEY,
            limit,
            **rules,
            **bounds,
            groups=groups,
            windows=windows,
            season=7 if seasoned else None,
            events=live,
            notices=live,
        )
        if seasoned:
            pointer = {"number": 7, "state": "open", "opens": "", "closes": ""}
            self.client.hset(f"{KEY}:season", mapping=pointer)
        self.periods = self.board._keys_now()[0]
        special = ties != "member" or subscore or ranking != "ordinal"
        self.plain = not (special or seasoned or grouped or bounded or live)

    def teardown(self):
        if hasattr(self, "client"):
            self.client.close()

    # ---- steps ----------------------------------------------------------------------------------

    def compare_answer(self, expected, submit):
        if isinstance(expected, str):
            error = submit() if isinstance(submit, LeaderboardError) else raised(submit)
            assert error.code == expected
            return
        answer = dict(submit()) if callable(submit) else dict(submit)
        sequence = answer.pop("sequence")
        stamped = self.model.ties != "member" or self.model.subscore or self.board.rules.events
        assert (sequence is not None) == bool(stamped)
        assert answer == expected

    @rule(
        user_id=IDS, score=SCORES, operator=OPERATORS, subscore=SUBSCORES, details=DETAILS, key=KEYS
    )
    def submit(self, user_id, score, operator, subscore, details, key):
        subscore = subscore if self.model.subscore else None
        expected = self.model.submit(user_id, score, operator, subscore, details, key)
        self.compare_answer(
            expected,
            lambda: self.board.submit(
                user_id,
                score,
                operator=operator,
                subscore=subscore,
                metadata=details,
                idempotency_key=key,
            ),
        )

    @rule(
        rows=st.lists(st.tuples(IDS, SCORES, OPERATORS, SUBSCORES, DETAILS, KEYS), max_size=6),
        all_or_nothing=st.booleans(),
    )
    def submit_many(self, rows, all_or_nothing):
        if not self.model.subscore:
            rows = [(*row[:3], None, *row[4:]) for row in rows]
        given = [
            {
                "user_id": user_id,
                "score": score,
                "operator": operator,
                "subscore": subscore,
                "metadata": details,
                "idempotency_key": key,
            }
            for user_id, score, operator, subscore, details, key in rows
        ]
        if all_or_nothing:
            pending = {}
            refused = {}
            for number, (user_id, score, operator, subscore, _, key) in enumerate(rows):
                if key and (user_id, key) in self.model.answers:
                    continue
                operator = operator or self.model.operator
                code = self.model.refusal(user_id, score, operator, subscore, pending)
                if code:
                    refused[number] = code
            if refused:
                error = raised(lambda: self.board.submit_many(given, all_or_nothing=True))
                assert isinstance(error, RowsRefusedError)
                assert {number: one.code for number, one in error.errors.items()} == refused
                return
        model = self.model
        one_by_one = model.limit or model.ranking == "dense" or self.plain
        expected = model.submit_many(rows, together=not one_by_one)
        answers = self.board.submit_many(given, all_or_nothing=all_or_nothing, details=True)
        assert len(answers) == len(expected)
        for answer, wanted in zip(answers, expected, strict=True):
            if isinstance(wanted, str):
                assert answer.code == wanted
            else:
                self.compare_answer(wanted, answer)

    @rule(user_id=IDS, details=DETAILS)
    def update_details(self, user_id, details):
        expected = self.model.update_details(user_id, details)
        answer = self.board.update_details(user_id, details)
        assert (answer and answer["metadata"]) == expected
        if answer:
            assert answer["rank"] == self.model.rank(user_id)
            assert answer["changed"] is False

    @rule(user_id=IDS)
    def delete(self, user_id):
        assert self.board.delete_user(user_id) == self.model.delete(user_id)

    @rule(user_id=IDS)
    def hide(self, user_id):
        assert self.board.hide(user_id) == self.model.hide(user_id)

    @rule(user_id=IDS)
    def unhide(self, user_id):
        assert self.board.unhide(user_id) == self.model.unhide(user_id)

    @rule(limit=st.sampled_from([None, 1, 2, 4, 6]))
    def set_max_entries(self, limit):
        assert self.board.set_max_entries(limit) == self.model.set_limit(limit)

    @rule()
    def clear(self):
        self.board.clear()
        self.model.clear()

    @rule()
    def move_to_another_board(self):
        """What `scan` gives, `load` restores, ties included."""
        copy = RedisLeaderboard(
            self.client,
            "copy:{model}",
            None,
            order=self.model.order,
            ties=self.model.ties,
            ranking=self.model.ranking,
            subscore=self.model.subscore,
            groups=self.model.groups,
        )
        rows = list(self.board.scan(2))
        assert copy.load(reversed(rows)) == len(rows)
        assert list(copy.scan(3)) == rows
        assert copy.list_all() == self.model.entries()
        copy.clear()
        self.client.delete("copy:{model}:seq")

    # ---- reads ----------------------------------------------------------------------------------

    @invariant()
    def every_read_agrees(self):
        if self.board._keys_now()[0] != self.periods:
            return  # another month began meanwhile; the model knows one only
        board, model = self.board, self.model
        entries = model.entries()
        size = len(entries)
        assert board.list_all() == entries
        assert board.get_size() == size
        for first in {0, size // 2, size - 1} if entries else ():
            assert board.get_page(first, 2) == entries[first : first + 2]
            start = max(0, min(first - 1, size - 3))
            assert board.get_around_rank(first + 1, 3) == entries[start : start + 3]
        for rank in {entry["rank"] for entry in entries} | {1, size + 1}:
            assert board.get_offset(rank) == model.offset(rank)
        self.players_agree(entries)
        for number, name in enumerate(board.rules.windows, 1):
            assert board.window(name).list_all() == model.entries(number=number)
            assert board.window(name).get_offset(2) == model.offset(2, number)
        for name in model.groups:
            for value in ("x", "xy"):
                expected = model.group(name, value)
                assert board.get_group(name, value) == {
                    "entries": expected,
                    "size": len(expected),
                    "next": None,
                }
                page = board.get_group(name, value, offset=1, count=2)
                assert page["entries"] == expected[1:3]
        self.distribution_agrees(entries)

    def players_agree(self, entries):
        board, model, size = self.board, self.model, len(entries)
        asked = ["a", "nobody", "🏆", "{e}", "b"]
        here = [one for one in model.rows() if one in asked]
        among = model.ranks(here)
        overall = {one["user_id"]: one["rank"] for one in entries}
        assert board.get_entries(asked) == {
            "entries": [
                model.entry(one, among[one]) | {"board_rank": overall[one]} for one in here
            ],
            "missing": [one for one in asked if one not in here],
        }
        for place in {0, size // 2, size - 1} if entries else ():
            entry = entries[place]
            user_id, score = entry["user_id"], entry["score"]
            assert board.get_rank(user_id) == entry["rank"]
            start = max(0, min(place - 1, size - 2))
            assert board.get_around_user(user_id, 2) == entries[start : start + 2]
            better = sum(
                (one["score"] > score) if model.order == "desc" else (one["score"] < score)
                for one in entries
            )
            assert board.get_percentile(user_id) == 100 * (size - better) / size
        if entries:
            assert board.get_user_entry(entries[0]["user_id"]) == entries[0]
            low, high = sorted([entries[0]["score"], entries[-1]["score"]])
            assert board.get_score_range(low, high) == entries
            inside = [one for one in entries if low <= one["score"] <= low + 1]
            assert board.get_score_range(low, low + 1) == inside
            assert (
                board.get_score_range(None, low, offset=1)
                == [one for one in entries if one["score"] <= low][1:]
            )

    def distribution_agrees(self, entries):
        bins = self.board.get_distribution(4)
        assert sum(one["count"] for one in bins) == len(entries)
        if entries:
            scores = [one["score"] for one in entries]
            assert (bins[0]["low"], bins[-1]["high"]) == (min(scores), max(scores))

    @invariant()
    def nothing_is_left_behind(self):
        names = {
            name if isinstance(name, str) else name.decode() for name in self.client.scan_iter()
        }
        users = {name.partition(":user:")[2] for name in names if ":user:" in name}
        assert users == {user_id for user_id, kept in self.model.details.items() if kept}
        if not any([*self.model.sets, *self.model.asides]):
            kept = {":seq", ":quiet", ":events", ":season", ":hidden"}
            rest = {name.removeprefix(KEY) for name in names if ":once:" not in name}
            assert rest <= kept


def raised(call):
    try:
        call()
    except LeaderboardError as error:
        return error
    raise AssertionError("nothing was refused")


def test_the_engine_and_the_model_agree(backend):
    run_state_machine_as_test(
        lambda: Boards(backend),
        settings=settings(
            max_examples=50 if backend.name == "valkey" else 12,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
