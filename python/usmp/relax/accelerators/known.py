"""Which names of accelerators among the targets of a build mean something?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from tvm.ir import IRModule

from usmp.names import TARGETS
from usmp.objects.pools import PoolInfo
from usmp.objects.targets import accelerator_of, check_not_refused
from usmp.relax.accelerators.patterns import patterns_of, registered_accelerators
from usmp.tvm018 import REFUSED, TARGET_NAMES

CODEGEN_ATTR = "Codegen"
"""On a Relax function: the accelerator that runs it. TVM's name."""


def can_take(accelerator: str, mod: IRModule | None = None) -> bool:
    """Return whether operators can run on an accelerator: by its patterns, or since functions of
    the module are for it."""
    if patterns_of(accelerator):
        return True
    functions = [] if mod is None else mod.functions.values()
    return any(accelerator in _accelerators_of(function.attrs or {}) for function in functions)


def listed_accelerators(pools: Iterable[PoolInfo]) -> set[str]:
    """Return the names of accelerators that memory pools list."""
    listed = [target for pool in pools for target in pool.target_access]
    return {name if isinstance(name, str) else str(accelerator_of(name)) for name in listed}


def check_accelerators(
    accelerators: Sequence[str], mod: IRModule | None = None, listed: Collection[str] = ()
) -> None:
    """Check that each name of an accelerator among the targets of a build means something.

    Parameters
    ----------
    accelerators
        their names.
    mod
        the module that is built, if it is known yet.
    listed
        the names that the user's memory pools list. These are no misspelt ones, so that programs
        with them can be built before there are patterns.

    Raises
    ------
    ValueError
        an unknown or misspelt name, or a code generator of TVM 0.18.
    """
    for name in accelerators:
        if can_take(name, mod):
            continue
        check_not_refused(name)
        if name not in listed:
            raise ValueError(_unknown(name))


def _accelerators_of(attributes: object) -> list[str]:
    """Return the accelerators that the attributes of a function name."""
    given = dict(attributes)  # type: ignore[call-overload]
    return [str(given.get(CODEGEN_ATTR)), str(accelerator_of(given.get("target")))]


def _unknown(name: str) -> str:
    known = [*TARGETS, *registered_accelerators()]
    of_tvm = [row.name for row in TARGET_NAMES if row.verdict != REFUSED]
    near = get_close_matches(name, [*known, *of_tvm], n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return (
        f'unknown target "{name}": no patterns of an accelerator have this name '
        f"(docs/accelerators.md); {meant}supported: {', '.join(known)}"
    )
