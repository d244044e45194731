"""The durable score log: every change of a board, moved here from its stream in Redis."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from leaderboard.models.board import Board


class ScoreEvent(models.Model):
    """One entry of a board's stream. Stored exactly once, by its stream id; never changed.

    `sequence` is the board's count of accepted changes and gives their order, whichever worker
    stored them first. Times are Redis time in microseconds, because ties depend on them.
    """

    # No index of its own: the three below begin with the board.
    board = models.ForeignKey(
        Board, on_delete=models.CASCADE, related_name="events", db_index=False
    )
    season = models.PositiveIntegerField(_("season"))
    sequence = models.PositiveBigIntegerField(_("sequence"))
    stream_id = models.CharField(_("stream id"), max_length=41)
    at = models.PositiveBigIntegerField(_("time"))
    op = models.CharField(_("change"), max_length=16)
    player_id = models.CharField(_("player"), max_length=256, blank=True)
    value = models.FloatField(_("submitted"), null=True)
    operator = models.CharField(_("operator"), max_length=8, blank=True)
    score = models.FloatField(_("resulting score"), null=True)
    subscore = models.FloatField(_("second number"), null=True)
    rank = models.PositiveIntegerField(_("rank"), null=True)
    source = models.CharField(_("source"), max_length=64, blank=True)
    idempotency_key = models.CharField(_("idempotency key"), max_length=255, blank=True)
    # What else a replay needs: details, trimmed ids, a new limit.
    data = models.JSONField(_("data"), null=True)

    class Meta:
        ordering = ["board", "sequence"]
        constraints = [
            models.UniqueConstraint(fields=["board", "stream_id"], name="event_is_stored_once"),
        ]
        indexes = [
            # A rebuild reads a season in order.
            models.Index(fields=["board", "season", "sequence"], name="event_by_season"),
            # A player's page plots their history.
            models.Index(fields=["board", "player_id", "sequence"], name="event_by_player"),
        ]

    def __str__(self) -> str:
        return f"{self.stream_id} {self.op} {self.player_id}"
