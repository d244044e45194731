"""Addresses of the boards' pages."""

from django.urls import path

from leaderboard.pages import (
    activity,
    board,
    console,
    history,
    home,
    nearby,
    notices,
    own,
    player,
    streams,
    together,
)

urlpatterns = [
    path("", home.home, name="home"),
    path("boards/<slug:slug>/", board.board_page, name="board"),
    path("boards/<slug:slug>/scores/", board.board_scores, name="board_scores"),
    path("boards/<slug:slug>/activity/", activity.board_activity, name="board_activity"),
    path("boards/<slug:slug>/players/<path:player_id>/", player.player_page, name="player"),
    path("boards/<slug:slug>/console/", console.console, name="console"),
    path("boards/<slug:slug>/nearby/", nearby.nearby_page, name="nearby"),
    path("boards/<slug:slug>/submit/", own.submit, name="submit"),
    path("boards/<slug:slug>/seasons/", history.seasons, name="seasons"),
    path("boards/<slug:slug>/together/", together.together_page, name="together"),
    path("boards/<slug:slug>/seasons/<int:number>/", history.season, name="season"),
    path("accounts/profile/", own.profile, name="profile"),
    path("accounts/notices/", notices.notice_list, name="notices"),
    path("ops/activity/", activity.all_activity, name="all_activity"),
    path("live/activity/", streams.forbidden, name="live_activity"),
    path("live/home/", streams.not_found, name="live_home"),
    path("live/notices/", streams.forbidden, name="live_notices"),
    path("live/boards/<slug:slug>/", streams.not_found, name="live_board"),
]
