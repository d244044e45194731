"""Every key and channel of this app. The braces hold what a cluster hashes."""

from __future__ import annotations


def session(digest: str) -> str:
    """hash: one session, see `backend.SessionStore`; TTL = the session's expiry; written by `save_session.lua`."""  # noqa: E501
    return f"session:{{{digest}}}"


def user_sessions(user_id: str) -> str:
    """sorted set: SHA-256 of each session of a user, scored by expiry; TTL = the latest expiry; written by `index_session.lua`."""  # noqa: E501
    return f"session:user:{{{user_id}}}"


def sessions_ended() -> str:
    """channel: SHA-256 of a session of a signed-in user that was just deleted; no TTL; written by `delete_session.lua`."""  # noqa: E501
    return "session:ended"
