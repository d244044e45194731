"""Constraints that several models share."""

from __future__ import annotations

from django.db.models import CheckConstraint, Q


def one_of(model: str, field: str, *values: str) -> CheckConstraint:
    """The database refuses what the form's choices do not offer."""
    return CheckConstraint(
        condition=Q(**{f"{field}__in": values}), name=f"{model}_{field}_is_known"
    )
