"""Trials that may reduce the memory of a model: builds with one option changed, or with two."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from usmp.names import DEFAULT_ALGORITHM, FLOAT, INT8, RAM, SMALL
from usmp.objects import Executor, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.pools import ANY_IO
from usmp.planning.options import PlanningOptions
from usmp_solver import SEARCHES

_PREFIX = "tir.usmp."
_EXTRA_MACS = "10%"
_ALIGNMENT = 4
"""Alignment in bytes: a word, which Cortex-M loads and stores fastest."""
_TIME_BUDGET, _MORE_SECONDS = "1min", 10.0
"""Time budget that a trial suggests to users, and seconds that the trial itself may search: fewer,
because the session already has the results of choices that a user's build has to compare."""
_MOST_ROWS = 2
"""Most inputs, and most outputs, that are tried row by row."""
LEAST_PERCENT = 2
"""What cannot save this share of the RAM, in percent, is not tried."""
_ROW_DIMENSIONS = 3
"""An output with fewer dimensions has no rows to take one by one."""


@dataclass(frozen=True)
class Trial:
    """A build with one change, or with two.

    Parameters
    ----------
    name
        name of the trial, for programs.
    flag
        flag of `tvmc`.
    what
        text of the change, for users.
    application
        what the application has to change, in a few words; empty for nothing.
    config
        options of the PassContext to set, or to leave out if None.
    arguments
        arguments of `usmp.build` to set.
    search_seconds
        most seconds that searches of the trial take; None if planning options alone limit them.
    is_of_code
        whether it makes the code smaller, and not the RAM.
    parts
        the two trials of a pair; empty for one change.
    """

    name: str
    flag: str
    what: str
    application: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    search_seconds: float | None = None
    is_of_code: bool = False
    parts: tuple[Trial, ...] = ()

    def combined(self, other: Trial) -> Trial | None:
        """Return the trial with both changes; None if one of them would undo the other."""
        config = {**self.config, **other.config}
        for name in self.config.keys() & other.config.keys():
            if not isinstance(config[name], list):
                return None
            # Lists of names begin with those that the user gives.
            config[name] = list(dict.fromkeys(chain(self.config[name], other.config[name])))
        if self.arguments.keys() & other.arguments.keys():
            return None
        return Trial(
            f"{self.name}+{other.name}",
            f"{self.flag} {other.flag}",
            f"{self.what}; {other.what}",
            "; ".join(filter(None, dict.fromkeys((self.application, other.application)))),
            config,
            {**self.arguments, **other.arguments},
            is_of_code=self.is_of_code and other.is_of_code,
            parts=(self, other),
        )


AS_IT_IS = Trial("as_it_is", "", "")
"""The build without a change."""


def trials(
    options: PlanningOptions,
    arguments: Mapping[str, Any],
    metadata: Mapping[str, Any],
    has_code: bool = False,
) -> Iterator[Trial]:
    """Yield the trials that may reduce the memory of a model, in the order to build them.

    Parameters
    ----------
    options
        options of the model's plan.
    arguments
        arguments of `usmp.build`.
    metadata
        metadata of the built model.
    has_code
        whether to yield trials that only make the code smaller, too.
    """
    if not (options.use_workspace_io and _places_io(arguments)):
        yield _other_io(options)
    if options.preserve_inputs:
        text = "a run may overwrite its inputs"
        yield _option("preserve_inputs", False, "without --usmp-preserve-inputs", text)
    yield from _rows(options, metadata)
    if not options.max_extra_macs:
        text = f"strips: up to {_EXTRA_MACS} more multiply-accumulates"
        yield _option("max_extra_macs", _EXTRA_MACS, None, text, _EXTRA_MACS)
    if options.optimize != RAM:
        yield _option("optimize", RAM, None, "slower schedules that take no memory more", RAM)
    if arguments.get("io_type", FLOAT) == FLOAT and _has_float_io(metadata):
        text = "inputs and outputs are the integers that the model computes with"
        change = "the application passes int8"
        values = {"io_type": INT8}
        yield Trial("io_type", f"--io-type {INT8}", text, change, arguments=values)
    yield from _alignment(arguments, metadata)
    yield from _search(options, metadata)
    yield from _larger_pool(arguments, metadata)
    if has_code and options.code != SMALL:
        config = {f"{_PREFIX}code": SMALL}
        text = "operators that differ in sizes only share their code"
        flag = f"--pass-config {_PREFIX}code={SMALL}"
        yield Trial("code", flag, text, config=config, is_of_code=True)


def _option(
    name: str,
    value: object,
    flag: str | None,
    effect: str,
    text: str | None = None,
    application: str = "",
) -> Trial:
    text = str(int(value)) if isinstance(value, bool) else str(text)
    flag = flag or f"--pass-config {_PREFIX}{name}={text}"
    return Trial(name, flag, effect, application, {_PREFIX + name: value})


def _places_io(arguments: Mapping[str, Any]) -> bool:
    """Return whether the user restricts the pools of inputs and outputs."""
    pools: WorkspaceMemoryPools | None = arguments.get("workspace_memory_pools")
    restricted = pools is not None and any(str(pool.io) != ANY_IO for pool in pools.pools)
    return restricted or arguments.get("io_memory_pool") is not None


def _other_io(options: PlanningOptions) -> Trial:
    if options.use_workspace_io:
        effect = "inputs and outputs have memory of their own"
        change = "the application passes its own arrays"
        return _option("use_workspace_io", False, None, effect, application=change)
    effect = "inputs and outputs share bytes with other buffers"
    change = "the application uses the addresses that map_inputs and map_outputs give"
    return _option("use_workspace_io", True, "--workspace-io", effect, application=change)


def _rows(options: PlanningOptions, metadata: Mapping[str, Any]) -> Iterator[Trial]:
    """Yield trials that each stream one of the largest inputs or outputs row by row."""
    if options.preserve_inputs or not options.streaming:
        return
    mains = metadata["memory"]["functions"]["main"]
    least = _least_bytes(metadata)
    for side, verb in (("input", "given"), ("output", "taken")):
        known: tuple[str, ...] = getattr(options, f"stream_{side}s")
        tensors = {
            f"{main['entry']}.{name}" if len(mains) > 1 else name: tensor["size"] or 0
            for main in mains
            for name, tensor in main[f"{side}s"].items()
            if not tensor.get("updated")
            and (tensor["size"] or 0) >= least
            # Inputs without rows are tried too, since the refusal says why they have none.
            and (side == "input" or len(tensor["shape"]) >= _ROW_DIMENSIONS)
            # Options may leave out the entry.
            and {name, f"{main['entry']}.{name}"}.isdisjoint((*known, *options.hops))
        }
        for name in sorted(tensors, key=lambda name: -tensors[name])[:_MOST_ROWS]:
            yield Trial(
                f"stream_{side}s",
                f"--stream-{side} {shlex.quote(name)}",
                f"this {side} is {verb} row by row",
                "the application needs a callback",
                {f"{_PREFIX}stream_{side}s": [*known, name]},
            )


def _least_bytes(metadata: Mapping[str, Any]) -> float:
    """Return the fewest bytes of RAM that a trial must be able to save."""
    return float(metadata["memory"]["ram"]["size_bytes"] * LEAST_PERCENT / 100)


def _has_float_io(metadata: Mapping[str, Any]) -> bool:
    return any(
        tensor["dtype"] == "float32"
        for main in metadata["memory"]["functions"]["main"]
        for side in ("inputs", "outputs")
        for tensor in main[side].values()
    )


def _alignment(arguments: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[Trial]:
    """Yield a trial with a smaller alignment, unless the buffers at the peak are too few for it."""
    executor: Executor = arguments["executor"]
    pools = [pool for pool in metadata["memory"]["pools"] if pool["kind"] == "workspace"]
    padding = executor.workspace_byte_alignment - _ALIGNMENT
    most_saved = sum(padding * len(pool["live_at_peak"]) for pool in pools)
    if most_saved > 0 and most_saved >= _least_bytes(metadata):
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
        yield Trial("algorithm", flag, "searches for the best plan", config=config)
    elif options.time_budget is None and options.algorithm_name == DEFAULT_ALGORITHM:
        effect = "searches longer; where it ends depends on the machine"
        config = {f"{_PREFIX}time_budget": _TIME_BUDGET}
        flag = f"--usmp-time-budget={_TIME_BUDGET}"
        yield Trial("time_budget", flag, effect, config=config, search_seconds=_MORE_SECONDS)


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
