"""Checks of the names of accelerators among the targets of a build."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tvm import relax
from tvm.ir import IRModule

from usmp.objects.pools import PoolInfo
from usmp.objects.target.targets import accelerator_of, check_not_refused, unknown_target
from usmp.relax.accelerators.kernels import stated_patterns
from usmp.relax.accelerators.patterns import patterns_of, registered_accelerators
from usmp.support.text.known_names import unknown_name
from usmp.tir.nodes import nodes_of

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
    """Check that each name of an accelerator among the targets of a build is known, and the
    patterns about which `state_kernel` states facts for them.

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
            _check_stated(name, mod)
            continue
        check_not_refused(name)
        if name not in listed:
            raise ValueError(_unknown(name))


def _check_stated(accelerator: str, mod: IRModule | None) -> None:
    """Check that facts are stated only about patterns of an accelerator that exist, in TVM's
    registry or in the module."""
    prefix = f"{accelerator}."
    known = [str(pattern.name) for pattern in patterns_of(accelerator)]
    unknown = [n for n in stated_patterns() if n.startswith(prefix) and n not in known]
    if unknown:
        known += [name for name in _composites(mod) if name.startswith(prefix)]
    for name in unknown:
        if known and name not in known:
            problem = f'state_kernel("{name}"): no pattern has this name'
            raise ValueError(unknown_name(problem, name, known, "Patterns"))


def _composites(mod: IRModule | None) -> list[str]:
    """Return the names of the patterns that the functions of a module matched already."""
    functions = [] if mod is None else mod.functions.values()
    outer = [function for function in functions if isinstance(function, relax.Function)]
    attributes = [f.attrs or {} for o in outer for f in nodes_of(o, relax.Function)]
    return [str(a["Composite"]) for a in attributes if "Composite" in a]


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
