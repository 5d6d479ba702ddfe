"""Trials that may reduce the memory of a model: builds with one option changed."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from usmp.names import (
    DEFAULT_ALGORITHM,
    FLOAT,
    INT8,
    OPTIONAL_PASSES,
    ORDER_OPERATORS,
    OVERLAP_INPUTS_AND_OUTPUTS,
    PRUNE_CONSTANT_CHANNELS,
    RAM,
    STREAM_OPERATORS,
)
from usmp.objects import Executor, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.pools import ANY_IO
from usmp.planning.options import PlanningOptions
from usmp_solver import SEARCHES

_PREFIX = "tir.usmp."
_PASSES = (
    ORDER_OPERATORS,
    STREAM_OPERATORS,
    OVERLAP_INPUTS_AND_OUTPUTS,
    PRUNE_CONSTANT_CHANNELS,
)
"""Passes whose trial is worth its time, in the order to try."""
_EXTRA_MACS = "10%"
_ALIGNMENT = 4
"""Alignment in bytes: a word, which Cortex-M loads and stores fastest."""
_TIME_BUDGET, _MORE_SECONDS = "1min", 10.0
"""Time budget that a trial suggests to users, and seconds that the trial itself may search: fewer,
because the session already has the results of choices that a user's build has to compare."""
_MOST_ROW_INPUTS = 2


@dataclass(frozen=True)
class Trial:
    """A build with one change.

    Parameters
    ----------
    name
        name of the trial, for programs.
    flag
        flag of `tvmc`.
    what
        text of the change, for users.
    config
        options of the PassContext to set, or to leave out if None.
    enables
        name of a pass to remove from the passes that the PassContext disables; empty for none.
    arguments
        arguments of `usmp.build` to set.
    search_seconds
        most seconds that searches of the trial take; None if planning options alone limit them.
    """

    name: str
    flag: str
    what: str
    config: Mapping[str, Any] = field(default_factory=dict)
    enables: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    search_seconds: float | None = None


def trials(
    options: PlanningOptions,
    disabled_pass: Collection[str],
    arguments: Mapping[str, Any],
    metadata: Mapping[str, Any],
) -> Iterator[Trial]:
    """Yield the trials that may reduce the memory of a model, in the order to build them.

    Parameters
    ----------
    options
        options of the model's plan.
    disabled_pass
        passes that are disabled in the PassContext in which the model was built.
    arguments
        arguments of `usmp.build`.
    metadata
        metadata of the built model.
    """
    if not (options.use_workspace_io and _places_io(arguments)):
        yield _other_io(options)
    if options.preserve_inputs:
        text = "a run may overwrite its inputs"
        yield _option("preserve_inputs", False, "without --usmp-preserve-inputs", text)
    yield from _row_inputs(options, metadata)
    for name in _PASSES:
        if f"usmp.{name}" in disabled_pass:
            flag = f"without --disabled-pass={name}"
            yield Trial(name, flag, OPTIONAL_PASSES[name], enables=name)
    if not options.max_extra_macs:
        text = f"strips: up to {_EXTRA_MACS} more multiply-accumulates, for borders computed again"
        yield _option("max_extra_macs", _EXTRA_MACS, None, text, _EXTRA_MACS)
    if options.optimize != RAM:
        yield _option("optimize", RAM, None, "slower schedules that take no memory more", RAM)
    if arguments.get("io_type", FLOAT) == FLOAT and _has_float_io(metadata):
        text = "inputs and outputs are the integers that the model computes with"
        yield Trial("io_type", f"--io-type {INT8}", text, arguments={"io_type": INT8})
    yield from _alignment(arguments)
    yield from _search(options, metadata)
    yield from _larger_pool(arguments, metadata)


def _option(
    name: str, value: object, flag: str | None, effect: str, text: str | None = None
) -> Trial:
    text = str(int(value)) if isinstance(value, bool) else str(text)
    return Trial(
        name, flag or f"--pass-config {_PREFIX}{name}={text}", effect, {_PREFIX + name: value}
    )


def _places_io(arguments: Mapping[str, Any]) -> bool:
    """Return whether the user restricts the pools of inputs and outputs."""
    pools: WorkspaceMemoryPools | None = arguments.get("workspace_memory_pools")
    restricted = pools is not None and any(str(pool.io) != ANY_IO for pool in pools.pools)
    return restricted or arguments.get("io_memory_pool") is not None


def _other_io(options: PlanningOptions) -> Trial:
    if options.use_workspace_io:
        effect = "the application gives inputs and outputs memory of their own"
        return _option("use_workspace_io", False, None, effect)
    effect = "inputs and outputs are in the workspace, where they share bytes with other buffers"
    return _option("use_workspace_io", True, "--workspace-io", effect)


def _row_inputs(options: PlanningOptions, metadata: Mapping[str, Any]) -> Iterator[Trial]:
    """Yield trials that each stream one of the first `_MOST_ROW_INPUTS` inputs row by row."""
    mains = metadata["memory"]["functions"]["main"]
    if len(mains) > 1 or options.preserve_inputs or not options.streaming:
        return
    inputs = [name for name, known in mains[0]["inputs"].items() if not known.get("updated")]
    for name in inputs[:_MOST_ROW_INPUTS]:
        if name not in options.row_inputs and name not in options.hops:
            yield Trial(
                "stream_inputs",
                f"--stream-input {shlex.quote(name)}",
                "the application gives this input row by row, in a callback",
                {f"{_PREFIX}stream_inputs": [*options.stream_inputs, name]},
            )


def _has_float_io(metadata: Mapping[str, Any]) -> bool:
    return any(
        tensor["dtype"] == "float32"
        for main in metadata["memory"]["functions"]["main"]
        for side in ("inputs", "outputs")
        for tensor in main[side].values()
    )


def _alignment(arguments: Mapping[str, Any]) -> Iterator[Trial]:
    executor: Executor = arguments["executor"]
    if executor.workspace_byte_alignment > _ALIGNMENT:
        known = {**executor.options, "workspace-byte-alignment": _ALIGNMENT}
        yield Trial(
            "workspace_byte_alignment",
            f"--executor-aot-workspace-byte-alignment {_ALIGNMENT}",
            f"buffers begin at multiples of {_ALIGNMENT} bytes, or of their elements' size",
            arguments={"executor": Executor(str(executor.name), known)},
        )


def _search(options: PlanningOptions, metadata: Mapping[str, Any]) -> Iterator[Trial]:
    """Yield a trial with a (longer) search if the peak of a pool is not proved to be lowest."""
    pools = metadata["memory"]["pools"]
    if all(pool["optimal"] for pool in pools if pool["kind"] == "workspace"):
        return
    if options.algorithm_name not in SEARCHES:
        config = {f"{_PREFIX}algorithm": DEFAULT_ALGORITHM, f"{_PREFIX}custom_algorithm": None}
        flag = f"--usmp-algorithm={DEFAULT_ALGORITHM}"
        yield Trial("algorithm", flag, "searches for the best plan", config)
    elif options.time_budget is None and options.algorithm_name == DEFAULT_ALGORITHM:
        effect = "searches longer; where it ends depends on the machine"
        config = {f"{_PREFIX}time_budget": _TIME_BUDGET}
        flag = f"--usmp-time-budget={_TIME_BUDGET}"
        yield Trial("time_budget", flag, effect, config, search_seconds=_MORE_SECONDS)


def _larger_pool(arguments: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[Trial]:
    """Yield a build without a limit of the preferred pool, if buffers spilled to other pools."""
    pools: WorkspaceMemoryPools | None = arguments.get("workspace_memory_pools")
    if pools is None or arguments.get("board") is not None:
        return
    first, *others = list(pools.pools)
    used = {pool["name"]: pool["peak_bytes"] for pool in metadata["memory"]["pools"]}
    spilled = any(used.get(str(pool.pool_name), 0) for pool in others)
    if int(first.size_hint_bytes) < 0 or not spilled:
        return
    name = str(first.pool_name)
    larger = WorkspaceMemoryPools([_without_limit(first), *others])
    yield Trial(
        "pool_size",
        f"a larger pool {name}",
        f"pool {name} has no limit",
        arguments={"workspace_memory_pools": larger},
    )


def _without_limit(pool: WorkspacePoolInfo) -> WorkspacePoolInfo:
    readers = {str(target) for target in pool.read_only_targets}
    targets = {t: "ro" if str(t) in readers else "rw" for t in pool.targets}
    return WorkspacePoolInfo(str(pool.pool_name), targets, pool.properties(size_hint_bytes=-1))
