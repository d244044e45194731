"""Redis lost its data, or somebody died half way: the log brings back what was there."""

import pytest
from django.core.cache import cache

from config.redis.connections import get_redis, perform
from leaderboard import keys
from leaderboard.boards import changing, marks, moderation, profiles, scores
from leaderboard.closing import archive, rearchive, seasons
from leaderboard.errors import SeasonClosedError, ServiceError
from leaderboard.log import rebuild
from leaderboard.models import AuditEntry, Board, FinalStanding, Player, ScoreEvent, Season
from leaderboard.seasons import pointer
from leaderboard.worker import clock
from tests.leaderboard.commands import refused, run
from tests.leaderboard.support import ACTOR, end_time, forget_seasons, ids, open_board, submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    forget_seasons()
    marks._seen.clear()
    cache.clear()
    monkeypatch.setattr(changing, "RULES_KNOWN_AFTER", 0.0)
    monkeypatch.setattr(seasons, "LOCK_WAIT", 0.2)


def played(players=5, **rules):
    """A board whose scores are in SQL."""
    board = open_board(**rules)
    for number in range(players):
        submit(board, f"p{number}", number, details={"name": f"Player {number}"})
    rebuild.drain(board, 5)
    return board


def lose_everything():
    get_redis().flushall()
    forget_seasons()


def final(season):
    rows = FinalStanding.objects.filter(season=season).order_by("position")
    return [(row.rank, row.player_id, row.score, row.name) for row in rows]


EVERYBODY = [(rank, f"p{5 - rank}", 5.0 - rank, f"Player {5 - rank}") for rank in range(1, 6)]


# ---- Redis lost everything ----------------------------------------------------------------------


def test_a_season_that_came_back_empty_is_rebuilt_and_goes_on():
    board = played(windows=["day"])
    lose_everything()
    clock.Clock().tick()
    assert pointer.read(board).is_open
    for view in (board.engine(), board.engine().window("day")):
        assert ids(view.get_top(9)) == ["p4", "p3", "p2", "p1", "p0"]
    assert board.engine().get_top(1)[0]["metadata"]["name"] == "Player 4"
    assert submit(board, "new", 9).rank == 1


def test_scores_wait_until_the_lost_season_is_rebuilt(monkeypatch):
    board = played()
    lose_everything()
    monkeypatch.setattr(scores, "PAUSE_LIMIT", 0.0)
    with pytest.raises(SeasonClosedError, match="is being rebuilt"):
        submit(board, "new", 9)
    for refused_now in (seasons.close_season, seasons.open_season):
        with pytest.raises(ServiceError, match="is being rebuilt"):
            refused_now(board=board, actor=ACTOR)
    clock.Clock().tick()
    assert submit(board, "new", 9).rank == 1
    assert board.engine().get_size() == 6


def test_a_lost_season_that_is_over_is_archived_with_its_scores():
    board = played(schedule="daily")
    lose_everything()
    Season.objects.update(opens="2026-01-01T00:00Z", closes="2026-01-02T00:00Z")
    ticking = clock.Clock()
    ticking.tick()
    ticking.tick()
    clock.archive_waiting()
    first, second = Season.objects.order_by("number")
    assert (first.state, first.entries, second.state) == ("closed", 5, "open")
    assert final(first) == EVERYBODY
    assert pointer.read(board).number == 2


def test_a_season_that_waited_for_its_archive_is_archived_from_the_log():
    board = played(schedule="daily")
    seasons.close_season(board=board, actor=ACTOR, archive_now=False)
    lose_everything()
    clock.Clock().tick()
    assert clock.archive_waiting() == 1
    assert final(Season.objects.get(number=1)) == EVERYBODY
    assert pointer.read(board).number == 2


def test_between_two_seasons_the_windows_come_back():
    board = played(windows=["all"])
    seasons.close_season(board=board, actor=ACTOR)
    lose_everything()
    clock.Clock().tick()
    assert pointer.read(board).state == "closed"
    assert board.engine().window("all").get_size() == 5
    get_redis().delete(keys.window_entries(board.key, "all", "all"))
    with pytest.raises(SystemExit):
        run("rebuild", "cup", "--check")
    run("rebuild", "cup")
    assert board.engine().window("all").get_size() == 5


def test_entries_that_are_gone_while_the_pointer_is_there_come_back():
    board = played()
    get_redis().delete(board.engine().entries_key)
    clock.Clock().tick()
    assert board.engine().get_size() == 5
    assert pointer.read(board).is_open


def test_a_season_that_was_emptied_on_purpose_stays_empty():
    board = played()
    changing.reset_board(board=board, actor=ACTOR, season_only=True)
    rebuild.drain(board, 5)
    assert not rebuild.is_lost(board, 1)


def test_restrictions_come_back_whoever_puts_the_pointer_back():
    board = played()
    moderation.ban_player(player_id="p4", reason="Bot", actor=ACTOR)
    lose_everything()
    pointer.current(board)
    clock.Clock().tick()
    assert ids(board.engine().get_top(9)) == ["p3", "p2", "p1", "p0"]


# ---- closed is final ----------------------------------------------------------------------------


def test_a_late_look_at_the_pointer_opens_no_closed_season(monkeypatch):
    board = played()
    before = pointer.read(board)
    seasons.close_season(board=board, actor=ACTOR)
    with monkeypatch.context() as late:
        late.setattr(pointer, "current", lambda _: before)
        assert not seasons.follow_pointer(board)
    assert Season.objects.get().state == "closed"
    seasons.open_season(board=board, actor=ACTOR)
    assert [one.state for one in Season.objects.order_by("number")] == ["closed", "open"]


@pytest.mark.parametrize("late", ["open", "closing", "planned"])
def test_a_closed_season_moves_to_no_other_state(late):
    board = played()
    seasons.close_season(board=board, actor=ACTOR)
    season = Season.objects.get()
    assert not season.advance(late)
    assert (season.state, Season.objects.get().state) == ("closed", "closed")


def test_redis_that_came_back_older_than_sql_follows_it():
    board = played(schedule="daily")
    old = get_redis().hgetall(keys.season_pointer(board.key))
    seasons.close_season(board=board, actor=ACTOR)
    submit(board, "next", 1)
    rebuild.drain(board, 5)
    get_redis().hset(keys.season_pointer(board.key), mapping=old)
    clock.Clock().tick()
    assert (pointer.read(board).number, pointer.read(board).state) == (2, "open")
    assert ids(board.engine().get_top(9)) == ["next"]
    assert final(Season.objects.get(number=1)) == EVERYBODY


# ---- a change of rules that meets something else ------------------------------------------------


def test_rules_are_not_saved_when_the_season_moved(monkeypatch):
    board = played(schedule="daily")
    pause = rebuild._pause

    def late(board, at):
        end_time(board)
        perform(pointer.roll(board, pointer.read(board)))
        pause(board, at)

    monkeypatch.setattr(rebuild, "_pause", late)
    with pytest.raises(ServiceError, match="has just ended"):
        changing.change_board(board=board, changes={"ties": "member"}, actor=ACTOR)
    found = pointer.look(board)
    assert Board.objects.get().ties == "earliest"
    assert (found.pointer.number, found.pointer.state, found.remake) == (2, "open", False)
    assert not AuditEntry.objects.filter(action="board.change").exists()


def test_a_board_that_moved_is_not_reset(monkeypatch):
    board = played(schedule="daily")
    stale = pointer.read(board)
    end_time(board)
    perform(pointer.roll(board, stale))
    monkeypatch.setattr(pointer, "read", lambda _: stale)
    with pytest.raises(ServiceError, match="has just ended"):
        changing.reset_board(board=board, actor=ACTOR)
    assert ScoreEvent.objects.filter(op="score").count() == 5


def test_rules_that_cannot_be_saved_leave_the_board_to_the_clock(monkeypatch):
    board = played()

    def away():
        raise RuntimeError("The database is away.")

    with monkeypatch.context() as broken:
        broken.setattr(changing, "wait_until_known", away)
        with pytest.raises(RuntimeError):
            changing.change_board(board=board, changes={"ties": "member"}, actor=ACTOR)
    clock.Clock().tick()
    board = Board.objects.get()
    assert board.ties == "member"
    assert ids(board.engine().get_top(9)) == ["p4", "p3", "p2", "p1", "p0"]


def test_a_new_calendar_is_followed_though_its_author_died(monkeypatch):
    board = played()
    with monkeypatch.context() as died:
        died.setattr(seasons, "reschedule", lambda board: None)
        changing.change_board(board=board, changes={"schedule": "daily"}, actor=ACTOR)
    assert pointer.read(board).closes is None
    clock.Clock().tick()
    assert pointer.read(board).closes
    assert not pointer.look(board).reschedule


def test_a_calendar_that_was_never_saved_moves_no_end():
    board = played()
    end = end_time(board).replace(year=2099)
    get_redis().hset(keys.season_pointer(board.key), "closes", pointer.microseconds(end))
    pointer.note(board, pointer.RESCHEDULE, "daily  UTC")
    clock.Clock().tick()
    assert pointer.read(board).closes == pointer.microseconds(end)
    assert not pointer.look(board).reschedule


# ---- a past season, archived again --------------------------------------------------------------


def archived_empty(**rules):
    """What an older version left behind: closed with nobody, although the log has five."""
    board = played(**rules)
    seasons.close_season(board=board, actor=ACTOR)
    FinalStanding.objects.all().delete()
    Season.objects.update(entries=0)
    return board


def test_a_season_whose_archive_is_emptier_than_its_log_is_archived_again():
    board = archived_empty()
    lose_everything()  # the fences begin again
    with pytest.raises(SystemExit) as end:
        run("rebuild", "cup", "--season", "1", "--check")
    assert end.value.code == 1
    assert not FinalStanding.objects.exists()
    assert "season 1, was rebuilt: 5 players, 5 differed" in run("rebuild", "cup", "--season", "1")
    season = Season.objects.get()
    assert (season.state, season.entries) == ("closed", 5)
    assert final(season) == EVERYBODY
    entry = AuditEntry.objects.get(action="season.rearchive")
    assert entry.data == {"season": 1, "before": 0, "after": 5, "lost": 0}
    assert "agree: 5 players" in run("rebuild", "cup", "--season", "1")
    assert AuditEntry.objects.filter(action="season.rearchive").count() == 1
    assert board.name in str(entry.board)


def test_archiving_again_is_all_or_nothing(monkeypatch):
    board = archived_empty()

    def die(*args, **values):
        raise RuntimeError

    monkeypatch.setattr(archive, "insert_rows", die)
    with pytest.raises(RuntimeError):
        rearchive.rebuild_season(board=board, number=1, actor=ACTOR)
    assert Season.objects.get().entries == 0
    assert not AuditEntry.objects.filter(action="season.rearchive").exists()


def test_an_archive_is_not_made_smaller_than_it_was():
    board = played()
    seasons.close_season(board=board, actor=ACTOR)
    ScoreEvent.objects.filter(player_id="p2").delete()
    message = refused("rebuild", "cup", "--season", "1")
    assert "would lose 1 entry that the score log does not have: p2 (season 1)." in message
    assert "Add --allow-loss" in message
    assert FinalStanding.objects.count() == 5
    run("rebuild", "cup", "--season", "1", "--allow-loss")
    assert FinalStanding.objects.count() == 4


def test_who_is_anonymous_or_hidden_now_is_not_named_by_a_new_archive():
    board = archived_empty()
    moderation.hide_player(board=board, player_id="p4", reason="Bot", actor=ACTOR)
    profiles.update_profile(player=Player.objects.get(pk="p3"), privacy="anonymous")
    rearchive.rebuild_season(board=board, number=1, actor=ACTOR)
    rows = FinalStanding.objects.order_by("position")
    assert [row.player_id for row in rows] == ["p3", "p2", "p1", "p0"]
    assert "Player 3" not in str(rows[0].details) + rows[0].name


@pytest.mark.parametrize(
    ("number", "message"), [("7", "has no season 7"), ("1", "rebuild the board instead")]
)
def test_only_a_closed_season_is_archived_again(number, message):
    played()
    clock.Clock().tick()
    assert message in refused("rebuild", "cup", "--season", number)
