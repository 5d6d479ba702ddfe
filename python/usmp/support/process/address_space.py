"""Messages about the memory limit of this process."""

from __future__ import annotations


def out_of_memory(step: str = "") -> str:
    """Return the message for a failed allocation.

    Parameters
    ----------
    step
        the failed step, such as "to plan the memory".
    """
    failed = " ".join(["usmp has not enough memory", *[step] * bool(step)])
    return (
        f"{failed}, and {address_space_limit()}; close other programs, raise the limit, "
        "or use a machine with more memory"
    )


def address_space_limit() -> str:
    """Return the limit of the address space of this process, as a clause of a sentence."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:
        # Windows has no such limit.
        return "this process has what the system gives it"
    limit, _ = getrlimit(RLIMIT_AS)
    if limit == RLIM_INFINITY:
        return "this process has what the system gives it"
    return f"a process may take {limit} bytes here (ulimit -v {limit // 1024})"
