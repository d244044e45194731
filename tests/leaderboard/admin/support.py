"""Staff at work in the admin."""

from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from leaderboard.models import Board


def staff(*permissions, superuser=False):
    user = User.objects.create_user("clerk", is_staff=True, is_superuser=superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def address(name, board, **query):
    return reverse(f"admin:leaderboard_board_{name}", args=[board.pk], query=query or None)


def form_values(board, **changes):
    fields = [f.name for f in Board._meta.fields if f.editable and f.name != "id"]
    values = {name: getattr(board, name) for name in fields} | changes
    return {name: value for name, value in values.items() if value not in (None, [])}
