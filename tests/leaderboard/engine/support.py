"""What a write leaves in Redis."""

import json

KEY = "leaderboard:{w}"


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def events(client, key=KEY):
    return [json.loads(text(*fields.values())) for _, fields in client.xrange(f"{key}:events")]


def everything(client):
    """Each key with its content, to see that nothing was written."""
    return {text(key): client.dump(key) for key in client.scan_iter()}
