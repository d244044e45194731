"""Players, restrictions, seasons, and the audit log."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from leaderboard.access import audit
from leaderboard.access.audit import Actor
from leaderboard.boards import moderation, profiles
from leaderboard.boards.profiles import after_change
from leaderboard.models import AuditEntry, Player, Restriction, Season
from leaderboard.seasons.history import forget_season_list


@admin.register(Player)
class PlayerAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["id", "display_name", "country", "team", "privacy", "account"]
    list_filter = ["privacy"]
    search_fields = ["id", "display_name"]
    raw_id_fields = ["account"]
    fields = ["id", "account", "display_name", "country", "team", "avatar", "bio", "privacy"]
    # Counting a million rows for the footer of each page would take longer than showing it.
    show_full_result_count = False

    def get_readonly_fields(self, request: HttpRequest, obj: Player | None = None) -> list[str]:
        return ["id"] if obj else []

    def save_model(self, request: HttpRequest, obj: Player, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        after_change(obj)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Staff who may delete a player may delete the restrictions; the audit log keeps both."""
        restrictions = Restriction.objects.filter(player__in=objs).count()
        counts = {str(Restriction._meta.verbose_name_plural): restrictions}
        return [str(player) for player in objs], counts, set(), []

    def delete_model(self, request: HttpRequest, obj: Player) -> None:
        profiles.delete_player(player=obj, actor=Actor.of(request.user))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Player]) -> None:
        for player in queryset:
            self.delete_model(request, player)


class RestrictionForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean_until(self) -> datetime | None:
        until: datetime | None = self.cleaned_data["until"]
        if until is not None and until <= timezone.now():
            raise forms.ValidationError(_("The end must be in the future."))
        return until


@admin.register(Restriction)
class RestrictionAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["player", "kind", "board", "reason", "created_at", "until", "state"]
    list_filter = ["kind", "board"]
    search_fields = ["player__id", "player__display_name", "reason"]
    raw_id_fields = ["player"]
    form = RestrictionForm
    fields = ["player", "board", "kind", "reason", "until"]
    actions = ["lift"]

    @admin.display(description=_("state"))
    def state(self, restriction: Restriction) -> str:
        return str(_("lifted") if restriction.lifted_at else _("in force"))

    def save_model(self, request: HttpRequest, obj: Restriction, form: Any, change: bool) -> None:
        restrict = (
            moderation.ban_player if obj.kind == Restriction.Kind.BANNED else moderation.hide_player
        )
        kept = restrict(
            player_id=obj.player_id,
            board=obj.board,
            reason=obj.reason,
            until=obj.until,
            actor=Actor.of(request.user),
        )
        obj.pk = kept.pk

    def has_change_permission(self, request: HttpRequest, obj: Restriction | None = None) -> bool:
        """A restriction is lifted and replaced, not changed: the log keeps both. Only the list,
        where `obj` is None, is allowed."""
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Restriction | None = None) -> bool:
        return False

    @admin.action(description=_("Lift the selected restrictions"), permissions=["change"])
    def lift(self, request: HttpRequest, queryset: QuerySet[Restriction]) -> None:
        chosen = list(queryset.filter(lifted_at__isnull=True).select_related("board"))
        for restriction in chosen:
            moderation.lift_restriction(
                restriction=restriction, reason="Lifted in the admin", actor=Actor.of(request.user)
            )
        text = ngettext(
            "%(count)d restriction was lifted.", "%(count)d restrictions were lifted.", len(chosen)
        )
        self.message_user(request, text % {"count": len(chosen)}, messages.SUCCESS)


@admin.register(Season)
class SeasonAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A name can be changed and a planned season deleted; the rest is read-only."""

    list_display = ["board", "number", "title", "state", "from_day", "to_day", "players"]
    list_filter = ["state", "board"]
    list_display_links = ["number", "title"]
    search_fields = ["name", "period", "board__name", "board__slug"]
    fields = ["board", "number", "name", "state", "opens", "closes", "closed_at", "players"]
    readonly_fields = ["board", "number", "state", "opens", "closes", "closed_at", "players"]

    @admin.display(description=_("name"))
    def title(self, season: Season) -> str:
        return season.title

    @admin.display(description=_("opens"), ordering="opens")
    def from_day(self, season: Season) -> str:
        return _day(season, season.opens)

    @admin.display(description=_("closes"), ordering="closes")
    def to_day(self, season: Season) -> str:
        return _day(season, season.closes)

    @admin.display(description=_("players"), ordering="entries")
    def players(self, season: Season) -> str:
        """The number of final standings, if the season has them."""
        return f"{season.entries}" if season.state == Season.State.CLOSED else "-"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Season]:
        return super().get_queryset(request).select_related("board")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Season | None = None) -> bool:
        allowed = super().has_delete_permission(request, obj)
        return allowed and (obj is None or obj.state in {"planned", "closed"})

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {}

    def save_model(self, request: HttpRequest, obj: Season, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        transaction.on_commit(partial(forget_season_list, obj.board_id))

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Counted, not listed: a season may have a million final standings."""
        counts = {gettext("final standings"): sum(season.entries for season in objs)}
        return [str(season) for season in objs], counts, set(), []

    def delete_model(self, request: HttpRequest, obj: Season) -> None:
        audit.record(
            "season.delete", actor=Actor.of(request.user), board=obj.board, season=obj.number
        )
        super().delete_model(request, obj)
        transaction.on_commit(partial(forget_season_list, obj.board_id))


def _day(season: Season, at: datetime | None) -> str:
    """The day in the board's time zone."""
    return date_format(at.astimezone(season.board.zone), "SHORT_DATE_FORMAT") if at else "-"


@admin.register(AuditEntry)
class AuditEntryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["at", "actor_name", "action", "board", "player_id", "reason"]
    list_filter = ["action", "board"]
    search_fields = ["actor_name", "action", "player_id", "reason"]
    date_hierarchy = "at"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False
