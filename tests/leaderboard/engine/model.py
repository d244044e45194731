"""A board in plain Python: dictionaries and `sorted`, for comparison with the engine."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Place:
    score: float
    subscore: float | None  # None ranks last
    stamp: int


@dataclass
class Model:
    order: str
    operator: str
    ties: str
    ranking: str
    subscore: str | None
    limit: int | None
    groups: tuple[str, ...]
    lowest: float | None
    highest: float | None
    largest_step: float | None
    windows: int  # how many sets besides the board itself; they never end here
    clock: int = 0
    details: dict[str, dict[str, str]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    answers: dict[tuple[str, str], dict] = field(default_factory=dict)

    def __post_init__(self):
        self.sets = [{} for _ in range(1 + self.windows)]
        self.asides = [{} for _ in range(1 + self.windows)]

    # ---- order ----------------------------------------------------------------------------------

    def worth(self, subscore):
        if subscore is None:
            return float("-inf")
        return subscore if self.subscore == "desc" else -subscore

    def rows(self, number=0):
        """Ids in rank order."""
        places = self.sets[number]

        def best_first(user_id):
            place = places[user_id]
            first = -place.score if self.order == "desc" else place.score
            second = -self.worth(place.subscore)
            third = {"earliest": place.stamp, "latest": -place.stamp, "member": 0}[self.ties]
            return first, second, third

        by_id = sorted(places, key=str.encode, reverse=self.order == "desc")
        return sorted(by_id, key=best_first)

    def ranks(self, ids, number=0):
        """Their ranks among themselves, by the board's ranking; ids must be in rank order."""
        ranks, last, rank = {}, None, 0
        for place, user_id in enumerate(ids, 1):
            entry = self.sets[number][user_id]
            now = (entry.score, entry.subscore)
            if self.ranking == "ordinal":
                rank = place
            elif now != last:
                rank = rank + 1 if self.ranking == "dense" else place
            last = now
            ranks[user_id] = rank
        return ranks

    def entry(self, user_id, rank, number=0):
        place = self.sets[number][user_id]
        entry = {
            "rank": rank,
            "user_id": user_id,
            "score": place.score,
            "metadata": self.details.get(user_id, {}),
        }
        return entry | ({"subscore": place.subscore} if self.subscore else {})

    def entries(self, ids=None, number=0):
        rows = self.rows(number)
        ranks = self.ranks(rows, number)
        return [
            self.entry(user_id, ranks[user_id], number)
            for user_id in rows
            if ids is None or user_id in ids
        ]

    def rank(self, user_id):
        return self.ranks(self.rows()).get(user_id)

    def offset(self, rank, number=0):
        rows = self.rows(number)
        if self.ranking != "dense":
            return min(rank - 1, len(rows))
        return sum(one < rank for one in self.ranks(rows, number).values())

    def group(self, name, value):
        ids = [one for one in self.rows() if self.details.get(one, {}).get(name) == value]
        among, overall = self.ranks(ids), self.ranks(self.rows())
        return [self.entry(one, among[one]) | {"board_rank": overall[one]} for one in ids]

    # ---- writes ---------------------------------------------------------------------------------

    def stands(self, user_id):
        return any(user_id in one for one in [*self.sets, *self.asides])

    def decide(self, operator, value, subscore, old):
        if operator == "sum":
            score = (old.score if old else 0.0) + value
            second = subscore if subscore is not None else (old.subscore if old else None)
        elif operator == "set":
            score = value
            second = subscore if subscore is not None else (old.subscore if old else None)
        else:
            score, second = value, subscore
            if old:
                sign = 1 if self.order == "desc" else -1
                new_key = (sign * score, self.worth(second))
                if new_key <= (sign * old.score, self.worth(old.subscore)):
                    score, second = old.score, old.subscore
        return score, second

    def breach(self, operator, value, score, old):
        bounded = value if operator == "best" else score
        if self.lowest is not None and bounded < self.lowest:
            return "score_too_low"
        if self.highest is not None and bounded > self.highest:
            return "score_too_high"
        if self.largest_step is not None:
            step = value if operator == "sum" else (score - old.score if old else 0.0)
            if abs(step) > self.largest_step:
                return "step_too_large"
        return None

    def refusal(self, user_id, value, operator, subscore, pending=None):
        targets = self.asides if user_id in self.hidden else self.sets
        old = (pending or {}).get(user_id, targets[0].get(user_id))
        score, second = self.decide(operator, value, subscore, old)
        code = self.breach(operator, value, score, old)
        if pending is not None and code is None:
            pending[user_id] = Place(score, second, 0)
        return code

    def submit(self, user_id, value, operator, subscore, details, key):
        operator = operator or self.operator
        if key and (user_id, key) in self.answers:
            return self.answers[user_id, key] | {"replayed": True}
        code = self.refusal(user_id, value, operator, subscore)
        if code:
            return code
        previous_rank = self.rank(user_id)
        hidden = user_id in self.hidden
        targets = self.asides if hidden else self.sets
        before = targets[0].get(user_id)
        self.clock += 1
        self.merge(user_id, details)
        entered = []
        changed = False
        for number, places in enumerate(targets):
            old = places.get(user_id)
            score, second = self.decide(operator, value, subscore, old)
            if old is None or (score, second) != (old.score, old.subscore):
                places[user_id] = Place(score, second, self.clock)
                changed = changed or number == 0
                if old is None:
                    entered.append(number)
        place = targets[0][user_id]
        answer = {
            "user_id": user_id,
            "score": place.score,
            "metadata": dict(self.details.get(user_id, {})),
            "previous_score": before.score if before else None,
            "previous_rank": previous_rank,
            "changed": changed,
            "replayed": False,
        }
        if self.subscore:
            answer["subscore"] = place.subscore
        trimmed = []
        for number in [] if hidden else entered:
            ids = self.trim(number)
            trimmed = ids if number == 0 else trimmed
        self.release()
        answer |= {"rank": self.rank(user_id), "trimmed_user_ids": trimmed}
        if key:
            self.answers[user_id, key] = answer
        return answer

    def submit_many(self, rows, together):
        """Where rows of different players are written together, the ranks before are those of the
        board before the first of them, and the ranks after those after the last."""
        answers, run, before = [], {}, {}
        for user_id, value, operator, subscore, details, key in rows:
            if user_id in run or not together:
                self.rank_run(run, before)
                run = {}
            before = before if run else self.ranks(self.rows())
            run[user_id] = self.submit(user_id, value, operator, subscore, details, key)
            answers.append(run[user_id])
        self.rank_run(run, before)
        return answers

    def rank_run(self, run, before):
        for user_id, answer in run.items():
            if not isinstance(answer, str) and not answer["replayed"]:
                answer["previous_rank"] = before.get(user_id)
                answer["rank"] = self.rank(user_id)

    def trim(self, number):
        worst = self.rows(number)[self.limit :] if self.limit else []
        for user_id in worst:
            del self.sets[number][user_id]
        return worst[::-1]

    def release(self):
        self.details = {one: kept for one, kept in self.details.items() if self.stands(one)}

    def set_limit(self, limit):
        self.limit = limit
        trimmed = self.trim(0)
        for number in range(1, len(self.sets)):
            self.trim(number)
        self.release()
        return trimmed

    def update_details(self, user_id, details):
        if not self.stands(user_id):
            return None
        self.merge(user_id, details)
        return dict(self.details.get(user_id, {}))

    def merge(self, user_id, details):
        kept = self.details.get(user_id, {}) | (details or {})
        texts = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in kept.items()
        }
        self.details[user_id] = {name: text for name, text in texts.items() if text is not None}

    def delete(self, user_id):
        was_there = user_id in self.sets[0] or user_id in self.asides[0]
        for places in [*self.sets, *self.asides]:
            places.pop(user_id, None)
        self.hidden.discard(user_id)
        self.release()
        return was_there

    def hide(self, user_id):
        if user_id in self.hidden:
            return False
        self.hidden.add(user_id)
        for places, aside in zip(self.sets, self.asides, strict=True):
            if user_id in places:
                aside[user_id] = places.pop(user_id)
        return True

    def unhide(self, user_id):
        if user_id not in self.hidden:
            return False
        self.hidden.discard(user_id)
        for number, (places, aside) in enumerate(zip(self.sets, self.asides, strict=True)):
            if user_id in aside:
                places[user_id] = aside.pop(user_id)
                self.trim(number)
        self.release()
        return True

    def clear(self):
        for places in [*self.sets, *self.asides]:
            places.clear()
        self.release()
