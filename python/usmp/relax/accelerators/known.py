"""Checks of the names of accelerators among the targets of a build."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tvm.ir import IRModule

from usmp.objects.pools import PoolInfo
from usmp.objects.target.targets import accelerator_of, check_not_refused, unknown_target
from usmp.relax.accelerators.patterns import patterns_of, registered_accelerators

CODEGEN_ATTR = "Codegen"
"""TVM's attribute of Relax functions: the accelerator that runs the function."""


def can_take(accelerator: str, mod: IRModule | None = None) -> bool:
    """Return whether an accelerator has patterns, or functions of the module are for it."""
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
    """Check that each name of an accelerator among the targets of a build is known.

    Parameters
    ----------
    accelerators
        names of accelerators.
    mod
        the module to build, if it is known yet.
    listed
        names that the user's memory pools list. They are accepted, so that programs can be built
        before there are patterns.

    Raises
    ------
    ValueError
        a name is unknown or misspelled, or that of a TVM 0.18 code generator.
    """
    for name in accelerators:
        if can_take(name, mod):
            continue
        check_not_refused(name)
        if name not in listed:
            raise ValueError(_unknown(name))


def _accelerators_of(attributes: object) -> list[str]:
    """Return the accelerators that the attributes of a function name."""
    values = dict(attributes)  # type: ignore[call-overload]
    return [str(values.get(CODEGEN_ATTR)), str(accelerator_of(values.get("target")))]


def _unknown(name: str) -> str:
    problem = (
        f'unknown target "{name}": no patterns of an accelerator have this name '
        "(docs/accelerators.md)"
    )
    return unknown_target(problem, name, registered_accelerators())
