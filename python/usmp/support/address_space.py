"""How much memory may this process take?"""

from __future__ import annotations


def address_space_limit() -> str:
    """Return the limit of the address space of this process as the end of a sentence."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:
        # Windows has no such limit.
        return "this process has what the system gives it"
    limit, _ = getrlimit(RLIMIT_AS)
    if limit == RLIM_INFINITY:
        return "this process has what the system gives it"
    return f"a process may take {limit} bytes here (ulimit -v {limit // 1024})"
