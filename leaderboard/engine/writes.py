"""The operations that change a board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from config.redis.calls import Call, Steps
from config.redis.functions import Function
from leaderboard.engine.base import Board, text
from leaderboard.engine.errors import (
    LeaderboardError,
    RowsRefusedError,
    SeasonMovedError,
    refusal,
)
from leaderboard.engine.functions import LIBRARY
from leaderboard.engine.operations import operation
from leaderboard.engine.rules import OPERATORS, checked_limit
from leaderboard.engine.values import (
    MOST_ROWS,
    NO_DETAILS,
    Details,
    Submission,
    checked_key,
    checked_number,
    flat_details,
    packed_details,
)

SUBMIT = LIBRARY["submit"]
SUBMIT_MANY = LIBRARY["submit_many"]
REMOVE = LIBRARY["remove_player"]
HIDE = LIBRARY["hide_player"]
REPLACE_DETAILS = LIBRARY["replace_details"]
TRIM = LIBRARY["trim_entries"]
CLEAR = LIBRARY["clear_entries"]
LOAD = LIBRARY["load_entries"]

ROWS_PER_CALL = 500  # some thirty milliseconds of the server's time: nobody waits long
CLEARED_PER_CALL = 5000

STATUSES = {"season", "window", "refused"}

Result = dict[str, Any]
Row = Submission | Mapping[str, Any]


class WriteOperations(Board):
    @operation
    def upsert_user(
        self, user_id: str, score: float, metadata: Details | None = None
    ) -> Steps[Result]:
        """Set a player's score, whatever the board's operator, and add to the details."""
        return self._submit(user_id, score, operator="set", metadata=metadata)

    @operation
    def increment_score(
        self, user_id: str, amount: float, metadata: Details | None = None
    ) -> Steps[Result]:
        """Add to a player's score, starting at 0, and to the details."""
        return self._submit(user_id, amount, operator="sum", metadata=metadata)

    def _submit(
        self,
        user_id: str,
        score: float,
        *,
        operator: str | None = None,
        subscore: float | None = None,
        metadata: Details | None = None,
        idempotency_key: str | None = None,
        source: str = "",
    ) -> Steps[Result]:
        """Submit a score by the board's operator, or by the one given."""
        user_id = self.checked_id(user_id)
        key = "" if idempotency_key is None else checked_key(idempotency_key)
        row = self._row(user_id, score, operator, subscore, metadata, key, source)
        # As `_write`, but in one generator: half of the time of a submission is Python's.
        while True:
            answer = yield self._write_call(SUBMIT, row)
            if answer.__class__ is list and answer[0].__class__ is int:
                return self._result(user_id, answer, row)
            self._explain(answer)

    submit = operation(_submit)

    @operation
    def update_details(
        self, user_id: str, metadata: Details, *, source: str = ""
    ) -> Steps[Result | None]:
        """Add to a player's details and leave the score alone; None when nobody has that id."""
        user_id = self.checked_id(user_id)
        count, flat = packed_details(metadata, self.rules.groups)
        row = [user_id, "", f"D{count}", "", "", source, *flat]
        try:
            answer = yield from self._write(SUBMIT, row)
        except LeaderboardError as error:
            if error.code == "unknown_player":
                return None
            raise
        return self._result(user_id, answer, row)

    @operation
    def submit_many(
        self, rows: Iterable[Row], *, all_or_nothing: bool = False, details: bool = False
    ) -> Steps[list[Result | LeaderboardError]]:
        """Submit many scores; for each row, in the order given, its result or its error."""
        results: list[Result | LeaderboardError] = []
        packed: list[tuple[int, str, list[Any]]] = []
        for number, row in enumerate(rows):
            try:
                one = row if isinstance(row, Submission) else _submission(row)
                user_id = self.checked_id(one.user_id)
                key = checked_key(one.idempotency_key)
                flat = self._row(
                    user_id, one.score, one.operator, one.subscore, one.metadata, key, one.source
                )
            except LeaderboardError as error:
                results.append(error)
            else:
                results.append({})
                packed.append((number, user_id, flat))
        if all_or_nothing:
            _refuse_any({n: r for n, r in enumerate(results) if isinstance(r, LeaderboardError)})
            if len(results) > MOST_ROWS:
                raise LeaderboardError(
                    f"All or nothing works for at most {MOST_ROWS} rows.",
                    code="too_many_rows",
                    field="rows",
                )
        portion = MOST_ROWS if all_or_nothing else ROWS_PER_CALL
        head = ["all" if all_or_nothing else "each", int(details)]
        for start in range(0, len(packed), portion):
            batch = packed[start : start + portion]
            flat = [value for _, _, row in batch for value in row]
            try:
                answers = yield from self._write(SUBMIT_MANY, head + flat)
            except SeasonMovedError as error:
                if start == 0:
                    raise
                # What is written stays written; the caller sends the rest again.
                for number, _, _ in packed[start:]:
                    results[number] = error
                break
            for (number, user_id, sent), answer in zip(batch, answers, strict=True):
                if answer.__class__ is list:
                    results[number] = self._result(user_id, answer, sent if details else None)
                else:
                    results[number] = refusal(text(answer), self.rules)
        return results

    def _row(
        self,
        user_id: str,
        score: float,
        operator: str | None,
        subscore: float | None,
        metadata: Details | None,
        idempotency_key: str,
        source: str,
    ) -> list[Any]:
        number = checked_number(score)
        try:
            sign = OPERATORS[operator or self.rules.operator]
        except (KeyError, TypeError):
            raise LeaderboardError(
                f"operator cannot be {operator!r}: choose one of {', '.join(OPERATORS)}.",
                code="invalid_operator",
                field="operator",
            ) from None
        second = ""
        if subscore is not None:
            if self.rules.subscore is None:
                raise LeaderboardError(
                    "This board has no subscore.", code="no_subscore", field="subscore"
                )
            second = repr(checked_number(subscore, "subscore"))
        count, flat = packed_details(metadata, self.rules.groups) if metadata else NO_DETAILS
        if second or idempotency_key or source:
            code = f"{sign.upper()}{count}"
            return [user_id, repr(number), code, second, idempotency_key, source, *flat]
        return [user_id, repr(number), f"{sign}{count}", *flat]

    def _write(self, function: Function, args: Sequence[Any]) -> Steps[Any]:
        """Send rows, again when Redis replies that another day has begun there."""
        while True:
            reply = yield self._write_call(function, args)
            first = reply[0] if reply.__class__ is list and reply else ""
            if reply.__class__ is list and (first.__class__ is list or text(first) not in STATUSES):
                return reply
            self._explain(reply)

    def _write_call(self, function: Function, args: Sequence[Any]) -> Call:
        if self._read_only:
            self._check_writable()
        # The function looks at the time itself: keys of a window that is over come back unwritten.
        names, rules = self._keys_last or self._keys_now()
        return self._writing_call(function, names, [rules, *args])

    def _explain(self, reply: Any) -> None:
        """Why nothing was written: raises, unless only the windows have moved."""
        if not isinstance(reply, list):
            raise refusal(text(reply), self.rules)
        status = text(reply[0])
        if status == "season":
            number = None if reply[1] is None else int(reply[1])
            raise SeasonMovedError(number, text(reply[2]))
        if status == "refused":
            pairs = zip(reply[1::2], reply[2::2], strict=True)
            _refuse_any({int(number): refusal(text(code), self.rules) for number, code in pairs})
        self._learn_time(int(reply[1]))

    def _result(self, user_id: str, answer: list[Any], row: list[Any] | None) -> Result:
        """A function's answer for people; `row` as it was sent, None to leave the details out."""
        (
            replayed,
            rank,
            score,
            previous_rank,
            previous_score,
            changed,
            sequence,
            subscore,
            flat,
            trimmed,
        ) = answer
        result: Result = {
            "rank": rank,
            "user_id": user_id,
            "score": None if score is None else float(score),
            "trimmed_user_ids": [text(one) for one in trimmed] if trimmed else [],
            "previous_rank": previous_rank,
            "previous_score": None if previous_score is None else float(previous_score),
            "changed": changed == 1,
            "replayed": replayed == 1,
            "sequence": sequence,
        }
        if row is not None:
            if flat is None:  # what was given is all there is
                values = iter(row[3:] if row[2][0].islower() else row[6:])
            else:
                values = iter([text(value) for value in flat])
            result["metadata"] = dict(zip(values, values))  # noqa: B905
        if self.rules.subscore is not None:
            result["subscore"] = None if subscore is None else float(subscore)
        return result

    @operation
    def set_max_entries(self, max_entries: int | None, *, source: str = "") -> Steps[list[str]]:
        """Change the size limit and return the ids trimmed by it, the worst first."""
        self._check_writable()
        self.max_entries = checked_limit(max_entries)
        self._keys_last = None
        trimmed: list[str] = []
        finished, first = False, 1
        while not finished:
            names, rules = self._keys_now()
            reply = yield self._writing_call(TRIM, names, [rules, source, first])
            finished, first = bool(reply[0]), 0
            trimmed += [text(user_id) for user_id in reply[1:]]
        return trimmed

    @operation
    def delete_user(self, user_id: str, *, source: str = "") -> Steps[bool]:
        """Remove a player from the board and every window, with the details."""
        reply = yield from self._everywhere(REMOVE, self.checked_id(user_id), source)
        return bool(reply)

    @operation
    def hide(self, user_id: str, *, source: str = "") -> Steps[bool]:
        """Take a player out of every read; the score is kept and goes on counting."""
        reply = yield from self._everywhere(HIDE, self.checked_id(user_id), source, "hide")
        return bool(reply)

    @operation
    def unhide(self, user_id: str, *, source: str = "") -> Steps[bool]:
        """Show a hidden player again, with the score and the time as they were."""
        reply = yield from self._everywhere(HIDE, self.checked_id(user_id), source, "unhide")
        return bool(reply)

    @operation
    def replace_details(
        self, user_id: str, metadata: Details, *, remove: str = "*", source: str = ""
    ) -> Steps[bool]:
        """Give a player these details wherever the player has entries or details, season or not.

        `remove` names one to take away; by default all that are not given. False when unknown.
        """
        flat = flat_details(metadata, self.rules.groups)
        user_id = self.checked_id(user_id)
        reply = yield from self._everywhere(REPLACE_DETAILS, user_id, source, remove, *flat)
        return bool(reply)

    def _everywhere(self, function: Function, *args: Any) -> Steps[Any]:
        """Do something to a player in the running season and in every window that is kept. When
        the season has moved on, again in the one that Redis names."""
        self._check_writable()
        board: WriteOperations = self
        while True:
            names, rules = board._keys_ever()
            reply = yield self._writing_call(function, names, [rules, *args])
            if not isinstance(reply, list):
                return reply
            board = self._in_season(int(reply[1]))

    @operation
    def clear(self, *, source: str = "") -> Steps[None]:
        """Empty the board and its windows, details included."""
        self._check_writable()
        finished, first = False, 1
        names, rules = self._keys_ever()
        while not finished:
            args = [rules, source, first, CLEARED_PER_CALL]
            reply = yield self._writing_call(CLEAR, names, args)
            finished, first = bool(reply), 0

    @operation
    def load(self, rows: Iterable[Mapping[str, Any]]) -> Steps[int]:
        """Put entries with given times on the board, as `scan` gives them; no events, no trim.

        Works on views too: this is how windows and seasons are rebuilt.
        """
        loaded, batch, count = 0, [], 0
        head = [self._rules_of_view()]
        for row in rows:
            batch += self._loaded_row(row)
            count += 1
            if count == ROWS_PER_CALL:
                loaded += yield self._writing_call(LOAD, self._read_keys, head + batch)
                batch, count = [], 0
        if batch:
            loaded += yield self._writing_call(LOAD, self._read_keys, head + batch)
        return loaded

    def _loaded_row(self, row: Mapping[str, Any]) -> list[Any]:
        flat, subscore = flat_details(row.get("metadata"), self.rules.groups), row.get("subscore")
        return [
            self.checked_id(row["user_id"]),
            repr(checked_number(row["score"])),
            "" if subscore is None else repr(checked_number(subscore, "subscore")),
            int(row.get("at") or 0),
            int(row.get("counter") or 0),
            len(flat) // 2,
            *flat,
        ]


def _submission(row: Mapping[str, Any]) -> Submission:
    try:
        return Submission(**row)
    except TypeError:
        raise LeaderboardError(
            "A row needs user_id and score, and can have operator, subscore, metadata, "
            "idempotency_key and source.",
            code="invalid_row",
            field="rows",
        ) from None


def _refuse_any(errors: Mapping[int, LeaderboardError]) -> None:
    if errors:
        raise RowsRefusedError(errors)
