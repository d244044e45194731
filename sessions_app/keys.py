"""Every key and channel of this app. The braces hold what a cluster hashes."""

from __future__ import annotations


def session(digest: str) -> str:
    """hash: one session, see `backend.SessionStore`; TTL = the session's expiry;
    written by `save_session`."""
    return f"session:{{{digest}}}"


def user_sessions(user_id: str) -> str:
    """sorted set: SHA-256 of each session of a user, scored by expiry; TTL = the latest expiry;
    written by `index_session`."""
    return f"session:user:{{{user_id}}}"


def sessions_ended() -> str:
    """channel: SHA-256 of a session of a signed-in user that was just deleted; TTL none;
    written by `delete_session`."""
    return "session:ended"


def site_accounts() -> str:
    """sorted set: account on any page, scored by the second last seen; TTL 30 days;
    written by `touch_present`."""
    return "presence:{site}:accounts"


def site_others() -> str:
    """sorted set: viewer without a name on any page, scored by the second last seen; TTL 60 s;
    written by `touch_present`."""
    return "presence:{site}:others"


def board_accounts(board: str) -> str:
    """sorted set: account that looks at a board, scored by the second last seen; TTL 60 s;
    written by `touch_present`."""
    return f"presence:board:{{{board}}}:accounts"


def board_others(board: str) -> str:
    """sorted set: viewer of a board without a name, scored by the second last seen; TTL 60 s;
    written by `touch_present`."""
    return f"presence:board:{{{board}}}:others"


def presence_leaving() -> str:
    """channel: JSON of who left a board or the site with one of their tabs; TTL none;
    written by `leave_present`."""
    return "presence:leaving"


def site_visitors(day: str) -> str:
    """hyperloglog: visitors of any page on one day; TTL 70 days; written by `visits.flush`."""
    return f"visits:{{site}}:{day}"


def board_visitors(board: str, day: str) -> str:
    """hyperloglog: visitors of a board on one day; TTL 70 days; written by `visits.flush`."""
    return f"visits:board:{{{board}}}:{day}"


def active_accounts(day: str) -> str:
    """bitmap: a bit for each account that was here on one day, by its id; TTL 70 days;
    written by `visits.flush`."""
    return f"visits:{{site}}:active:{day}"


def returned_accounts(day: str, later: str) -> str:
    """bitmap: accounts that were here on both days; TTL 60 s; written by `count_returned`."""
    return f"visits:{{site}}:returned:{day}:{later}"


def flags() -> str:
    """hash: JSON of each flag's state, by name; TTL 1 day, then read from SQL again;
    written by `flags.publish`."""
    return "flags:{all}"


def flag_users(name: str) -> str:
    """bitmap: a bit for each account that a flag names, by its id; TTL 1 day, with `flags:{all}`;
    written by `flags.publish`."""
    return f"flags:{{all}}:users:{name}"
