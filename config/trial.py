"""The administrator of a local trial: made with a random password, which `serve` prints."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import check_password

ADMIN = "admin"


def keep_password(password: str) -> None:
    _file().write_text(password + "\n")  # readable by its owner only, as all of VAR_DIR


def valid_password() -> str:
    """The first password, or empty when it is no longer valid."""
    path = _file()
    if not path.is_file():
        return ""
    password = path.read_text().strip()
    admin = get_user_model().objects.filter(username=ADMIN, is_active=True).first()
    if admin is not None and check_password(password, admin.password):
        return password
    path.unlink()
    return ""


def _file() -> Path:
    return Path(settings.VAR_DIR) / "demo_password"
