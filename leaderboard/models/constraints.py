"""Constraints that several models share."""

from __future__ import annotations

from django.db.models import CheckConstraint, Q


def one_of(model: str, field: str, *values: str) -> CheckConstraint:
    """Let the database refuse values that are not among a field's choices."""
    return CheckConstraint(
        condition=Q(**{f"{field}__in": values}), name=f"{model}_{field}_is_known"
    )
