"""Boards for tests, with their first season open."""

from datetime import datetime, timedelta

from django.utils import timezone

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access.audit import Actor
from leaderboard.boards import changing, current, scores
from leaderboard.seasons.pointer import microseconds

ACTOR = Actor("tester")


def open_board(slug="cup", **values):
    return changing.create_board(actor=ACTOR, **{"slug": slug, "name": slug.title()} | values)


def submit(board, player_id, score, **values):
    return scores.submit_score(board=board, player_id=player_id, score=score, **values)


def end_time(board, ago=timedelta(0)):
    """Let the running season's time be over, as if it had been planned so."""
    moment = timezone.now() - ago
    get_redis().hset(keys.season_pointer(board.key), "closes", microseconds(moment))
    return moment


def forget_seasons():
    """As a process that has just started: no guess about any board."""
    current._seasons.clear()


def ids(entries):
    return [entry["user_id"] for entry in entries]


def utc(text):
    return datetime.fromisoformat(text + "+00:00")
