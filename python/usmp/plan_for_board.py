"""Plan a module into a board's memories, and say in the board's words what does not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.target import Target

from usmp.analysis import pool_usage
from usmp.objects import (
    ConstantMemoryPools,
    Executor,
    MemoryPlan,
    PlacedBuffer,
    WorkspaceMemoryPools,
)
from usmp.objects.attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    MEMORY_PLAN_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.boards import Board
from usmp.objects.targets import BuildTargets, parse_targets
from usmp.transform import UnifiedStaticMemoryPlanner

_DOES_NOT_FIT = "TVM USMP Error: the space available"
_NAMED_BUFFERS = 4


def plan_for_board(mod: IRModule, board: Board) -> IRModule:
    """Plan `mod`, whose pools lie in the memories of the board.

    Raises
    ------
    ValueError: as `UnifiedStaticMemoryPlanner`; if something does not fit, it names the memory,
        the bytes that are missing, and the largest buffers that are live together.
    """
    try:
        return UnifiedStaticMemoryPlanner()(mod)
    except ValueError as error:
        if not str(error).startswith(_DOES_NOT_FIT):
            raise
        raise ValueError(_misfit(mod, board, str(error))) from error


def board_targets(board: Board | None, targets: BuildTargets) -> BuildTargets:
    """The targets; "llvm" without -mtriple, which TVM takes for this host, means the board."""
    if board is None or targets.cpu.kind.name != "llvm":
        return targets
    if targets.cpu.attrs.get("mtriple") != Target("llvm").attrs.get("mtriple"):
        return targets
    return replace(targets, cpu=parse_targets(f"llvm {board.llvm_options}").cpu)


def check_board_executor(board: Board, executor: Executor) -> None:
    """Refuse an interface that programs for boards cannot have.

    Raises
    ------
    ValueError: the packed interface.
    """
    if executor.is_packed:
        raise ValueError(
            f"the packed interface needs TVM's runtime, which a program for board {board.name} "
            "lacks; use interface-api c"
        )


def _misfit(mod: IRModule, board: Board, message: str) -> str:
    """What the planner says about size hints, said about the board."""
    full = re.findall(r'^  pool "([^"]*)": size_hint_bytes=(\d+)', message, re.MULTILINE)
    buffer = re.search(r"allocate the buffer : (\S+) \((\d+) bytes", message)
    smallest = {name: int(size) for size, name in re.findall(r'(\d+) for pool "([^"]*)"', message)}
    parts = []
    for name, hint in full:
        text = f"{board.memory(name)} has {hint} bytes for pools"
        if name in smallest:
            text += f", {smallest[name] - int(hint)} too few"
        parts.append(text)
    what = f'buffer "{buffer[1]}" ({buffer[2]} bytes)' if buffer else "a buffer"
    return (
        f"the model does not fit board {board.name}: no room for {what}; {'; '.join(parts)}; "
        f"{_largest_buffers(mod, full[0][0])}; choose other memories, a smaller model, or "
        "another tir.usmp.algorithm"
    )


def _largest_buffers(mod: IRModule, pool: str) -> str:
    """The largest buffers where most bytes are needed, from a plan into memories without limits."""
    plan = _plan_without_limits(mod)
    use = {use.pool_name: use for use in pool_usage(plan)}[pool]
    live = sorted(use.live_at_peak, key=lambda b: (-b.size_bytes, str(b.name)))
    return (
        f"with room for all it would take {use.peak_bytes} bytes of {pool}, the largest of them "
        f"{_described(live)}"
    )


def _described(buffers: Sequence[PlacedBuffer]) -> str:
    named = [f"{buffer.name} ({buffer.size_bytes})" for buffer in buffers[:_NAMED_BUFFERS]]
    return ", ".join(named)


def _plan_without_limits(mod: IRModule) -> MemoryPlan:
    current = PassContext.current()
    for attribute, kind in (
        (WORKSPACE_MEMORY_POOLS_ATTR, WorkspaceMemoryPools),
        (CONSTANT_MEMORY_POOLS_ATTR, ConstantMemoryPools),
    ):
        pools = [pool.with_properties(size_hint_bytes=-1) for pool in mod.attrs[attribute].pools]
        mod = mod.with_attr(attribute, kind(pools))
    config = {k: v for k, v in current.config.items() if k != "tir.usmp.time_budget"}
    if config.get("tir.usmp.algorithm") == "exact":
        # The user waits for an error: what fixed work finds is as good a number.
        config["tir.usmp.algorithm"] = "auto"
    with PassContext(opt_level=current.opt_level, config=config):
        planned = UnifiedStaticMemoryPlanner()(mod)
    plan: MemoryPlan = planned.attrs[MEMORY_PLAN_ATTR]
    return plan
