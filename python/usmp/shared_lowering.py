"""Relax modules of a session, lowered once for all builds that get the same."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext, Sequential

from usmp.objects.attributes import (
    ALL_FUSED,
    EXECUTOR_ATTR,
    FUSION_ATTR,
    IO_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.entries import ONLY_ENTRY
from usmp.objects.executor import executor_of
from usmp.ops.control_flow import ControlFlow
from usmp.passes import apply_passes
from usmp.planning.options import OF_PLANNING, planning_options
from usmp.planning.session import PlanningSession
from usmp.planning.stream_inputs import OPTION as STREAM_INPUTS
from usmp.relax.entries import relax_entries
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.qdq import convolves_images, is_quantized

_MEMORIES = (WORKSPACE_MEMORY_POOLS_ATTR, IO_MEMORY_POOL_ATTR, EXECUTOR_ATTR)
"""Attributes that say where buffers go."""


def applied(passes: list[Pass], mod: IRModule) -> IRModule:
    """What passes of a build make of a module."""
    return apply_passes(Sequential(passes, name="usmp.build"), mod)


def lowered_in_session(
    session: PlanningSession,
    mod: IRModule,
    context: PassContext,
    passes: list[Pass],
    how: Hashable,
) -> IRModule:
    """The module after these passes. Builds of one module with other options, in one session,
    share what they have of it; so do those for other memories, unless lowering plans.

    Parameters
    ----------
    how
        what the passes were made for.
    """
    if not _lowering_plans(mod, context):
        # Whether operators are split depends on memories; mostly there is nothing to split.
        asked = mod.with_attr(FUSION_ATTR, ALL_FUSED)
        lowered = _lowered_once(session, asked, context, passes, how, plans=False)
        if FUSION_ATTR not in (lowered.attrs or {}):
            return lowered
    return _lowered_once(session, mod, context, passes, how, plans=True)


def _lowered_once(
    session: PlanningSession,
    mod: IRModule,
    context: PassContext,
    passes: list[Pass],
    how: Hashable,
    plans: bool,
) -> IRModule:
    """The same, if it is known whether lowering plans."""
    read = mod if plans else _without_memories(mod)
    what = "lowered", how, what_lowering_reads(read, context, plans)
    lowered = session.once(what, read, partial(applied, passes, read))
    for name in _MEMORIES:
        if name in mod.attrs:
            lowered = lowered.with_attr(name, mod.attrs[name])
    return lowered


def _without_memories(mod: IRModule) -> IRModule:
    """The module without what only the planner and what comes after it read."""
    for name in _MEMORIES:
        # Lowering asks whether the interface is packed.
        if name in mod.attrs and not (name == EXECUTOR_ATTR and executor_of(mod).is_packed):
            mod = mod.without_attr(name)
    return mod


def _lowering_plans(mod: IRModule, context: PassContext) -> bool:
    """Whether it is known before that lowering compares the memory of several forms."""
    config = {str(k): v for k, v in context.config.items()}
    return (
        relax_entries(mod) != [ONLY_ENTRY]
        or bool(planning_options(config).max_extra_macs)
        or is_quantized(main_function(mod))
        or convolves_images(main_function(mod))
        # Bodies are lowered by the same passes.
        or any(isinstance(f, tirx.PrimFunc) and ControlFlow.of(f) for f in mod.functions.values())
    )


def what_lowering_reads(mod: IRModule, context: PassContext, plans: bool) -> Hashable:
    """All that the lowered module depends on beside what a session asks of a module. Options of
    planning do not matter, unless lowering plans; of inputs that are given by rows, it matters then
    which are windows."""
    config = {str(k): v for k, v in context.config.items()}
    known = config if plans else {k: v for k, v in config.items() if k not in OF_PLANNING}
    if not plans:
        known[STREAM_INPUTS] = list(planning_options(config).hops.items())
    passes = context.opt_level, tuple(context.required_pass), tuple(context.disabled_pass)
    attributes = sorted((str(k), repr(v)) for k, v in (mod.attrs or {}).items())
    return repr((passes, sorted((k, str(v)) for k, v in known.items()), attributes))
