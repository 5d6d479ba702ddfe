"""The PassContext of a build: names of TVM 0.18 in it are replaced, and the user is told once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

from tvm.ir.transform import Pass, PassContext

from usmp import transform
from usmp.aot import transform as aot_transform
from usmp.objects.targets import BuildTargets, parse_targets
from usmp.planning.options import current_config
from usmp.relax import transform as relax_transform
from usmp.tvm018 import DISABLED_PASSES, MAPPED, OPT_LEVELS, OldName, find
from usmp.tvm018.current_options import OldOption, cmsis_nn_core, refusal
from usmp.tvm018.old_name import refused
from usmp.tvm018.pass_options import (
    BELOW_0,
    CMSIS_NN,
    DISABLED_PASS,
    FROM_4,
    OPT_LEVEL,
    REQUIRED_PASS,
)

_Parameters = ParamSpec("_Parameters")
_Value = TypeVar("_Value")

PASSES: dict[str, Callable[..., Pass]] = {
    name: getattr(package, name)
    for package in (relax_transform, aot_transform, transform)
    for name in package.__all__
}
"""What makes each pass of ours, by its name without the "usmp."."""

_PREFIX = "usmp."
_FUSE_OPS = "FuseOps"
_REQUIRED, _UNKNOWN = (
    next(row for row in DISABLED_PASSES if row.name == name)
    for name in (REQUIRED_PASS, DISABLED_PASS)
)

OPTIONAL_PASSES = (
    "ChooseSchedules",
    "CompareWorkspaceIO",
    "ConvertImageLayout",
    "ConvertQDQToIntegers",
    "FoldConstants",
    "FoldPadding",
    "FoldUnchangedStates",
    "FuseRecordedOperators",
    "FuseSlices",
    "FuseWindowSlices",
    "MergeSimilarFunctions",
    "NormalizeCopies",
    "OrderOperators",
    "PruneConstantChannels",
    "PushSliceThroughConcat",
    "ScheduleOperators",
    "SelectKernels",
    "SplitIntoStrips",
    "StreamOperators",
)
"""Passes without which a build gives a result that is as correct."""

_NEEDED = refused(
    DISABLED_PASS,
    "there is no code without this pass; those that can be left out are "
    + ", ".join(OPTIONAL_PASSES),
)


def in_current_context(
    function: Callable[_Parameters, _Value],
) -> Callable[_Parameters, _Value]:
    """Let a function run within the PassContext that has names of today only, and tell the user of
    those of TVM 0.18 that the caller's has.

    Within it, further functions find nothing to tell. The function raises ValueError if an option
    or a pass of the caller's PassContext is refused.
    """

    @wraps(function)
    def translated(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Value:
        with entered_current_context():
            return function(*args, **kwargs)

    return translated


@contextmanager
def entered_current_context() -> Iterator[None]:
    """Enter the current PassContext with names of today, and tell the user of those of TVM 0.18.

    Raises
    ------
    ValueError
        see `current_context`.
    """
    context, old = current_context()
    for one in old:
        one.row.tell(one.value)
    if context.same_as(PassContext.current()):
        yield
        return
    with context:
        yield


def current_context() -> tuple[PassContext, list[OldOption]]:
    """Return the current PassContext with names of today, and the names of TVM 0.18 that it has.

    It is the same object if nothing changes.

    Raises
    ------
    ValueError
        an option is refused, or a pass without which there is no code is to be left out; the
        message names all of them.
    """
    context = PassContext.current()
    config, old_options = current_config(context.config)
    level = str(context.opt_level)
    old_level = find(OPT_LEVELS, OPT_LEVEL, _range_of_level(context.opt_level))
    given = [str(name) for name in context.disabled_pass if str(name)]
    disabled, old_passes = _disabled_passes(given)
    if old_level is not None and old_level.verdict == MAPPED:
        disabled += _disabled_passes([_FUSE_OPS])[0]
    required = [str(name) for name in context.required_pass]
    old = [
        *old_options,
        *old_passes,
        *([] if old_level is None else [OldOption(old_level, level)]),
        *(OldOption(_REQUIRED, name) for name in required),
    ]
    refused_names = refusal(old)
    if refused_names:
        raise ValueError(refused_names)
    if not old and disabled == given:
        return context, []
    changed = PassContext(
        opt_level=context.opt_level if old_level is None else 3,
        disabled_pass=list(dict.fromkeys(disabled)),
        instruments=list(context.instruments),
        config=config,
    )
    return changed, old


def _range_of_level(level: int) -> str:
    """Return what the table calls an optimization level."""
    if 0 <= level < 4:
        return str(level)
    return BELOW_0 if level < 0 else FROM_4


def _disabled_passes(names: Iterable[str]) -> tuple[list[str], list[OldOption]]:
    """Return the passes that are left out, and what is to be told of the names."""
    disabled: list[str] = []
    old: list[OldOption] = []
    for name in names:
        own = name.rpartition(".")[2]
        row = find(DISABLED_PASSES, f"{DISABLED_PASS}={name}")
        if own in OPTIONAL_PASSES:
            disabled.append(_PREFIX + own)
        elif own in PASSES:
            old.append(OldOption(_NEEDED, name))
        elif row is not None:
            disabled += row.to
            old.append(OldOption(row, ""))
        else:
            old.append(OldOption(_unknown_pass(own), name))
    return disabled, old


def _unknown_pass(name: str) -> OldName:
    """Return the row of a name that no pass has, with the name of the one that may be meant."""
    close = get_close_matches(name, OPTIONAL_PASSES, n=1)
    meant = f"; did you mean {_PREFIX}{close[0]}?" if close else ""
    return replace(_UNKNOWN, reason=_UNKNOWN.reason + meant)


def with_core_of_options(targets: BuildTargets) -> BuildTargets:
    """Return the targets with the core that the PassContext has in `relay.ext.cmsisnn.options`.

    Raises
    ------
    ValueError
        the target is another one than c, or names another core, or the core is not known.
    """
    core = cmsis_nn_core(PassContext.current().config.get(CMSIS_NN))
    if not core:
        return targets
    given = targets.cpu.attrs.get("mcpu")
    if targets.cpu.kind.name != "c" or given not in (None, core):
        named = f"core {given}" if given else f"target {targets.cpu.kind.name}"
        raise ValueError(
            f"{CMSIS_NN} is for core {core}, but the target names {named}; write the target as "
            f'"c -mcpu={core}" and leave out the option'
        )
    return replace(targets, cpu=parse_targets(f"c -mcpu={core}").cpu)
