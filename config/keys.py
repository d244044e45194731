"""The keys that belong to no app."""


def libraries_used() -> str:
    """hash: library of functions → when a process last used it, seconds; TTL 7 days; written by
    `versions.note_use`"""
    return "functions:used"


def lock(name: str) -> str:
    """string: the token of a lock's holder; TTL the lock's timeout; written by `locks.hold`"""
    return f"lock:{{{name}}}"


def fence(name: str) -> str:
    """string: how often a lock was taken; TTL none, a number that began again would not fence;
    written by `locks.hold`"""
    return f"lock:{{{name}}}:fence"


def filling(key: str) -> str:
    """string: somebody is computing the entry `key` of the cache; TTL 10 s; written by `cached`"""
    return f"filling:{key}"
