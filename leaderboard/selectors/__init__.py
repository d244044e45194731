"""Questions about boards, seasons and players: reads only."""

from leaderboard.selectors.boards import get_board, visible_boards
from leaderboard.selectors.history import (
    SeasonPage,
    champions,
    history,
    player_seasons,
    season_list,
    season_page,
)

__all__ = [
    "SeasonPage",
    "champions",
    "get_board",
    "history",
    "player_seasons",
    "season_list",
    "season_page",
    "visible_boards",
]
