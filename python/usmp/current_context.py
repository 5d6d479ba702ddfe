"""The old names in a PassContext, mostly of TVM 0.18: their translation, and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tvm.ir.transform import Pass, PassContext

from usmp import transform
from usmp.aot import transform as aot_transform
from usmp.names import OPTIONAL_PASSES
from usmp.objects.target.targets import BuildTargets, parse_targets
from usmp.relax import transform as relax_transform
from usmp.support.text.known_names import unknown_name
from usmp.tvm018 import DISABLED_PASSES, MAPPED, OPT_LEVELS, OldName, find
from usmp.tvm018.current_options import cmsis_nn_core, current_options, refusal
from usmp.tvm018.old_name import WrittenName, tell_all
from usmp.tvm018.pass_options import (
    BELOW_0,
    CMSIS_NN_CONFIG,
    DISABLED_PASS,
    FROM_4,
    NEEDED_PASS,
    OPT_LEVEL,
    REQUIRED_PASS,
    UNKNOWN_PASS,
)

_Parameters = ParamSpec("_Parameters")
_Value = TypeVar("_Value")

PASSES: dict[str, Callable[..., Pass]] = {
    name: getattr(package, name)
    for package in (relax_transform, aot_transform, transform)
    for name in package.__all__
}
"""The constructor of each pass of this package, by the name of the pass without "usmp."."""

_PREFIX = "usmp."
_FUSE_OPS = "FuseOps"


def in_current_context(
    function: Callable[_Parameters, _Value],
) -> Callable[_Parameters, _Value]:
    """Wrap a function so that it runs in the translated PassContext of its caller.

    The user is notified once of each name of TVM 0.18, because nested calls of wrapped functions
    run in the translated context. The wrapped function raises ValueError if an option or a pass of
    the caller's PassContext is refused.
    """

    @wraps(function)
    def translated(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Value:
        with entered_current_context():
            return function(*args, **kwargs)

    return translated


@contextmanager
def entered_current_context() -> Iterator[None]:
    """Enter the translated current PassContext, and notify the user of each name of TVM 0.18.

    Raises
    ------
    ValueError
        see `current_context`.
    """
    context, old = current_context()
    tell_all(old)
    if context.same_as(PassContext.current()):
        yield
        return
    with context:
        yield


def current_context() -> tuple[PassContext, list[WrittenName]]:
    """Return the translated current PassContext, and the names of TVM 0.18 that it had.

    Without such names, it is the current PassContext itself.

    Raises
    ------
    ValueError
        an option is refused, or a pass that every build needs is disabled; the message names all of
        them.
    """
    context = PassContext.current()
    options = current_options(context.config)
    level = str(context.opt_level)
    old_level = find(OPT_LEVELS, OPT_LEVEL, _range_of_level(context.opt_level))
    disabled_names = [str(name) for name in context.disabled_pass if str(name)]
    disabled, old_passes = _disabled_passes([*disabled_names, *options.disabled_pass])
    if old_level is not None and old_level.verdict == MAPPED:
        disabled += _disabled_passes([_FUSE_OPS])[0]
    required = [str(name) for name in context.required_pass]
    old = [
        *options.old,
        *old_passes,
        *([] if old_level is None else [WrittenName(old_level, level)]),
        *(WrittenName(REQUIRED_PASS, name) for name in required),
    ]
    refused_names = refusal(old)
    if refused_names:
        raise ValueError(refused_names)
    if not old and disabled == disabled_names:
        return context, []
    changed = PassContext(
        opt_level=context.opt_level if old_level is None else 3,
        disabled_pass=list(dict.fromkeys(disabled)),
        instruments=list(context.instruments),
        config=options.options,
    )
    return changed, old


def changed_context(**fields: Any) -> PassContext:
    """Return the current PassContext with other values of some fields."""
    current = PassContext.current()
    known = {
        "opt_level": current.opt_level,
        "required_pass": list(current.required_pass),
        "disabled_pass": list(current.disabled_pass),
        "instruments": list(current.instruments),
        "config": dict(current.config),
    }
    return PassContext(**{**known, **fields})


def _range_of_level(level: int) -> str:
    """Return the name of an optimization level in the table `OPT_LEVELS`."""
    if 0 <= level < 4:
        return str(level)
    return BELOW_0 if level < 0 else FROM_4


def _disabled_passes(names: Iterable[str]) -> tuple[list[str], list[WrittenName]]:
    """Return the passes to leave out, and the names to report to the user."""
    disabled: list[str] = []
    old: list[WrittenName] = []
    for name in names:
        own = name.rpartition(".")[2]
        row = find(DISABLED_PASSES, f"{DISABLED_PASS}={name}")
        if own in OPTIONAL_PASSES:
            disabled.append(_PREFIX + own)
        elif own in PASSES:
            old.append(WrittenName(NEEDED_PASS, name))
        elif row is not None:
            disabled += row.to
            old.append(WrittenName(row))
        else:
            old.append(WrittenName(_unknown_pass(own), name))
    return disabled, old


def _unknown_pass(name: str) -> OldName:
    """Return a row for an unknown pass, which suggests the pass with the closest name."""
    known = [*OPTIONAL_PASSES, _FUSE_OPS]
    reason = unknown_name(UNKNOWN_PASS.reason, name, known, "Such passes")
    return replace(UNKNOWN_PASS, reason=reason)


def with_core_of_options(targets: BuildTargets) -> BuildTargets:
    """Return the targets for the core in the option `relay.ext.cmsisnn.options` of the PassContext.

    Raises
    ------
    ValueError
        the target is not c, it names another core, or the core is unknown.
    """
    core = cmsis_nn_core(PassContext.current().config.get(CMSIS_NN_CONFIG))
    if not core:
        return targets
    target_core = targets.cpu.attrs.get("mcpu")
    if targets.cpu.kind.name != "c" or target_core not in (None, core):
        named = f"core {target_core}" if target_core else f"target {targets.cpu.kind.name}"
        raise ValueError(
            f"{CMSIS_NN_CONFIG} is for core {core}, but the target names {named}; write the target "
            f'as "c -mcpu={core}" and leave out the option'
        )
    return replace(targets, cpu=parse_targets(f"c -mcpu={core}").cpu)
