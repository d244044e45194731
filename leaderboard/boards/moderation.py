"""Moderation: edit, remove, hide, ban. Each with a reason, each in the audit log.

SQL remembers restrictions; Redis acts on them: `hidden` takes a player out of every read, `marks`
refuses the banned. SQL is written first, so a restriction that was promised is never forgotten;
`enforce` brings Redis in line and may be repeated.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from config.redis.connections import get_redis
from leaderboard import keys
from leaderboard.access import aliases, audit
from leaderboard.access.audit import Actor
from leaderboard.boards import marks, scores
from leaderboard.boards.scores import ScoreResult
from leaderboard.errors import NotOnBoardError, ServiceError
from leaderboard.models import Board, Player, Restriction
from leaderboard.seasons.history import forget_names


def edit_score(
    *, board: Board, player_id: str, score: float, reason: str, actor: Actor
) -> ScoreResult:
    """Set a player's score, whatever the board's operator."""
    _need(reason)
    result = scores.submit_score(
        board=board,
        player_id=player_id,
        score=score,
        operator="set",
        source=_source(actor),
    )
    audit.record(
        "player.score",
        actor=actor,
        board=board,
        player_id=player_id,
        reason=reason,
        before=result.previous_score,
        after=score,
    )
    return result


def remove_player(*, board: Board, player_id: str, reason: str, actor: Actor) -> None:
    """Take a player off the board, its windows included; a hidden one stays hidden."""
    _need(reason)
    engine = board.engine()
    entry = engine.get_user_entry(player_id)
    # Somebody who has not played in this season may still be in a window.
    in_windows = any(engine.window(name).get_user_entry(player_id) for name in board.windows)
    removed = engine.delete_user(player_id, source=_source(actor))
    if not (removed or in_windows):
        raise NotOnBoardError(f"This player is not on {board.name}.", field="player_id")
    audit.record(
        "player.remove",
        actor=actor,
        board=board,
        player_id=player_id,
        reason=reason,
        before=entry["score"] if entry else None,
    )
    enforce(player_id, [board])


def hide_player(
    *,
    player_id: str,
    reason: str,
    actor: Actor,
    board: Board | None = None,
    until: datetime | None = None,
) -> Restriction:
    """Take a player out of sight, on one board or on all; the score is kept and goes on."""
    return _restrict(Restriction.Kind.HIDDEN, player_id, board, reason, until, actor)


def ban_player(
    *,
    player_id: str,
    reason: str,
    actor: Actor,
    board: Board | None = None,
    until: datetime | None = None,
) -> Restriction:
    """Hide a player and refuse new scores, on one board or on all."""
    return _restrict(Restriction.Kind.BANNED, player_id, board, reason, until, actor)


def unhide_player(*, player_id: str, reason: str, actor: Actor, board: Board | None = None) -> None:
    """Lift whatever restriction the player has on this board (or on all)."""
    found = Restriction.objects.filter(
        player_id=player_id, board=board, lifted_at__isnull=True
    ).first()
    if found is None:
        elsewhere = Restriction.objects.active().filter(player_id=player_id, board__isnull=True)
        if board is not None and elsewhere.exists():
            raise NotOnBoardError(
                "This player is restricted on every board; lift it on every board.",
                field="everywhere",
            )
        raise NotOnBoardError("This player is not restricted here.", field="player_id")
    lift_restriction(restriction=found, reason=reason, actor=actor)


def lift_restriction(*, restriction: Restriction, reason: str, actor: Actor) -> None:
    """End a restriction; the player appears again unless another one holds."""
    with transaction.atomic():
        held = Restriction.objects.filter(pk=restriction.pk, lifted_at__isnull=True)
        if not held.update(lifted_at=timezone.now()):
            return  # somebody else was faster: a person, or another worker
        audit.record(
            "restriction.lift",
            actor=actor,
            board=restriction.board,
            player_id=restriction.player_id,
            reason=reason,
            kind=restriction.kind,
        )
        _enforce_after_commit(restriction)


def lift_expired() -> int:
    """The sweep: end restrictions whose time is over. Returns how many."""
    expired = list(Restriction.objects.expired().select_related("board"))
    for restriction in expired:
        lift_restriction(restriction=restriction, reason="It has expired.", actor=audit.WORKER)
    return len(expired)


def enforce(player_id: str, boards: list[Board]) -> None:
    """Make Redis agree with what SQL says about a player."""
    player = Player.objects.filter(pk=player_id).first()
    active = Restriction.objects.active().filter(player_id=player_id)
    for board in boards:
        here = list(active.filter(Q(board=board) | Q(board__isnull=True)))
        _apply(board, player_id, here, player)


def apply_everywhere_rules(board: Board) -> None:
    """A new board, or one that Redis has lost: all that holds on it."""
    everywhere = Q(restrictions__board__isnull=True) | Q(restrictions__board=board)
    restricted = Q(restrictions__lifted_at__isnull=True) & everywhere
    players = Player.objects.filter(
        Q(restrictions__isnull=False) & restricted | ~Q(privacy=Player.Privacy.SHOWN)
    ).distinct()
    for player in players:
        enforce(player.pk, [board])


def _restrict(
    kind: str,
    player_id: str,
    board: Board | None,
    reason: str,
    until: datetime | None,
    actor: Actor,
) -> Restriction:
    _need(reason)
    if until is not None and until <= timezone.now():
        raise ServiceError("The end must be in the future.", field="until")
    with transaction.atomic():
        player, _ = Player.objects.get_or_create(pk=player_id)
        restriction, _ = Restriction.objects.update_or_create(
            player=player,
            board=board,
            lifted_at=None,
            defaults={
                "kind": kind,
                "reason": reason,
                "until": until,
                "created_by_id": actor.user_id,
            },
        )
        audit.record(
            "player.ban" if kind == Restriction.Kind.BANNED else "player.hide",
            actor=actor,
            board=board,
            player_id=player_id,
            reason=reason,
            until=until.isoformat() if until else None,
        )
        _enforce_after_commit(restriction)
    return restriction


def _enforce_after_commit(restriction: Restriction) -> None:
    """Redis follows SQL: a caller's transaction may still be rolled back."""
    transaction.on_commit(partial(enforce, restriction.player_id, _boards(restriction.board)))
    transaction.on_commit(forget_names)


def _apply(board: Board, player_id: str, active: list[Restriction], player: Player | None) -> None:
    privacy = player.privacy if player else Player.Privacy.SHOWN
    hidden = bool(active) or privacy == Player.Privacy.OPTED_OUT
    banned = any(one.kind == Restriction.Kind.BANNED for one in active)
    anonymous = privacy == Player.Privacy.ANONYMOUS
    _mark(board, player_id, banned=banned, anonymous=anonymous)
    engine = board.engine()
    (engine.hide if hidden else engine.unhide)(player_id, source="moderation")


def _mark(board: Board, player_id: str, *, banned: bool, anonymous: bool) -> None:
    client, key = get_redis(), keys.marks(board.key)
    alias = aliases.alias_of(board, player_id)
    if anonymous:
        client.hset(keys.aliases(board.key), alias, player_id)
    else:
        client.hdel(keys.aliases(board.key), alias)
    if banned or anonymous:
        client.hset(key, player_id, marks.BANNED if banned else marks.ANONYMOUS)
    else:
        client.hdel(key, player_id)
    marks.forget(board)


def _boards(board: Board | None) -> list[Board]:
    return list(Board.objects.all()) if board is None else [board]


def _need(reason: str) -> None:
    if not reason.strip():
        raise ServiceError("Enter a reason; it is kept in the audit log.", field="reason")


def _source(actor: Actor) -> str:
    return f"staff:{actor.name}"[:64]
