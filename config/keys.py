"""The keys that belong to no app."""


def lock(name: str) -> str:
    """string: the token of a lock's holder; TTL the lock's timeout; written by `locks.hold`"""
    return f"lock:{{{name}}}"


def fence(name: str) -> str:
    """string: how often a lock was taken; TTL none, a number that began again would not fence;
    written by `locks.hold`"""
    return f"lock:{{{name}}}:fence"
