"""Boards and readers for page tests."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.test import Client

from leaderboard.access.audit import Actor
from leaderboard.boards.changing import create_board
from leaderboard.boards.scores import submit_score
from leaderboard.models import Board, Player

ACTOR = Actor("tests")


def make_board(slug: str = "cup", **values: Any) -> Board:
    return create_board(
        actor=ACTOR,
        **{"slug": slug, "name": f"The {slug.title()}", "operator": "set"} | values,
    )


def make_player(username: str, **values: Any) -> User:
    user = get_user_model().objects.create_user(username, password="correct horse battery")
    Player.objects.create(id=username, account=user, **{"display_name": username.title()} | values)
    return user


def score(board: Board, player_id: str, value: float, **details: str) -> None:
    submit_score(board=board, player_id=player_id, score=value, details=details or None)


@pytest.fixture
def client() -> Client:
    """A browser, not the Redis client that the engine's tests call by this name."""
    return Client()


@pytest.fixture
def board(db: None) -> Board:
    return make_board(windows=["day", "week"])
