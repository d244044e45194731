"""What templates need to show boards."""

from __future__ import annotations

from django import template

from leaderboard.presentation import season_text

register = template.Library()
register.filter("season_text", season_text)
