"""The passes from a Relax module to planned TIR, in their order, with reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext, Sequential
from tvm.target import Target

from usmp.aot.entry_streams import Streams
from usmp.aot.stages import EntryGroupStage, EntryStateStage, copy_stage
from usmp.aot.transform import (
    AttachIOQuantization,
    CheckAccelerators,
    ConvertWindowsToStates,
    LowerControlFlow,
    LowerEntries,
    LowerOperators,
    ScheduleOperators,
    SelectKernels,
    TakeDevices,
)
from usmp.boards.board import Board, board_named
from usmp.boards.board_targets import board_targets
from usmp.boards.plan_for_board import PlanForBoard
from usmp.codegen.c.names import symbol_prefix
from usmp.current_context import changed_context, in_current_context, with_core_of_options
from usmp.names import FAST, FLOAT, POISON_DEAD_BYTES, PROFILE
from usmp.objects.target.cores import core_of
from usmp.objects.target.described_target import OneTarget
from usmp.objects.target.targets import BuildTargets, parse_targets
from usmp.passes import LockedSequential, apply_passes
from usmp.planning.options import planning_options
from usmp.planning.search import Search
from usmp.planning.search.search import PassOrStage
from usmp.planning.search.stages import OrderStage, SegmentStage, TileStage
from usmp.planning.session import planning_session
from usmp.relax.accelerators.kernels import times_stated
from usmp.relax.accelerators.patterns import patterns_of
from usmp.relax.stages import FloatLayoutStage, GroupStage, IntegerLayoutStage, StripStage
from usmp.relax.transform import (
    AddRootBlocks,
    BindSymbolicSizes,
    CheckCalls,
    CheckIterations,
    CheckShapes,
    ConvertBranches,
    ConvertIOToIntegers,
    FoldPadding,
    FoldUnchangedStates,
    InlineFunctions,
    LowerAcceleratorFunctions,
    MakeParameterNamesUnique,
    NormalizeCopies,
    NormalizeTakeIndices,
    PartitionForAccelerators,
    PruneConstantChannels,
    ResolveMatchCasts,
)
from usmp.relax.transform.fusion.fuse_operators import FinishFusion, LegalizeForFusion
from usmp.search_choices import SearchChoices
from usmp.transform import (
    CallOperatorHooks,
    ConvertForLoopsToSerial,
    LowerDynamicAllocations,
    MergeSimilarFunctions,
    PoisonDeadBytes,
    StreamIO,
    UnifiedStaticMemoryPlanner,
)


def get_aot_pipeline(
    target: OneTarget | Sequence[OneTarget] | BuildTargets = "c",
    module_name: str = "default",
    board: str | Board | None = None,
    *,
    compare_workspace_io: bool = False,
    several_entries: bool = False,
    io_type: str = FLOAT,
) -> Sequential:
    """Return the passes of `usmp.build`, from a Relax module to planned TIR.

    The module may have the attributes `executor`, `workspace_memory_pools`,
    `constant_memory_pools`, `state_memory_pool`, `io_memory_pool` and `state_layout`, which
    `usmp.build` sets.
    The options of the current `PassContext` decide which passes are in the list; when passes run,
    they read the options of the context of that time. For a board `usmp.build` also sets
    `tir.usmp.use_workspace_io` and the pools in its memories.
    Within a `usmp.planning.session.planning_session`, passes share their results about the module.

    Parameters
    ----------
    target
        see `usmp.build`.
    module_name
        prefix of the C symbols.
    board
        a board, or its name: the module's pools are in its memories.
    compare_workspace_io
        see `usmp.build`.
    several_entries
        whether the module has other entries than `main`; each entry is then searched by itself
        (`usmp.LowerEntries`).
    io_type
        see `usmp.build`.

    Returns
    -------
    Sequential
        its `passes` are a list, in which `SearchChoices` is the search. PassInstruments see its
        passes and stages by names such as "usmp.LowerMain".

    Raises
    ------
    ValueError
        an unknown target, board or `io_type`, or options that the planner refuses.
    """
    board = board_named(board) if isinstance(board, str) else board
    targets = board_targets(board, with_core_of_options(parse_targets(target)))
    return _BuildPasses(
        [
            *module_passes(),
            search_pass(
                targets,
                module_name,
                compare_workspace_io=compare_workspace_io,
                several_entries=several_entries,
                io_type=io_type,
            ),
            *planning_passes(board, symbol_prefix(module_name)),
        ],
        name="usmp.Pipeline",
    )


class _BuildPasses(LockedSequential):
    """The passes of a build, which run in a PassContext with the current names of options."""

    @in_current_context
    def __call__(self, mod: IRModule) -> IRModule:
        """Apply the passes to a module."""
        return super().__call__(mod)


def module_passes() -> list[Pass]:
    """Return the passes that inline function calls and separate the bodies of branches."""
    return [
        # Inline functions first, because branches may call them.
        InlineFunctions(),
        # Resolve the shapes of function parameters, which follow from calls.
        ResolveMatchCasts(),
        # Check calls after closures are inlined, and before branches are separated.
        CheckCalls(),
        # Make each body of a branch a module of its own.
        ConvertBranches(),
        AddRootBlocks(),
    ]


def search_pass(
    targets: BuildTargets,
    module_name: str,
    *,
    compare_workspace_io: bool = False,
    several_entries: bool = False,
    io_type: str = FLOAT,
) -> SearchChoices:
    """Return the pass that lowers Relax to TIR in the form with the smallest plan.

    Raises
    ------
    ValueError
        the `io_type` is unknown, or the planner refuses the options.
    """
    lowering = entry_steps if several_entries else main_steps
    # Change inputs and outputs of all entries at once.
    interface: list[PassOrStage] = [] if io_type == FLOAT else [ConvertIOToIntegers(io_type)]
    planning = [
        # Order and stream entries one by one.
        *([] if several_entries else main_stages()),
        # Choose tiles for all entries together, because they share operators and memory.
        TileStage(),
    ]
    patterns = [str(p.name) for name in targets.accelerators for p in patterns_of(name)]
    how = repr(targets), module_name, io_type, several_entries, tuple(patterns), times_stated()
    lowered = [*interface, *lowering(targets, module_name)]
    return SearchChoices(lowered, planning, how, compare_workspace_io)


def main_stages() -> list[PassOrStage]:
    """Return the stages of one main PrimFunc, and the pass that streams inputs and outputs by rows,
    if options ask for it."""
    streaming: list[PassOrStage] = [StreamIO()] if planning_options().streams_io else []
    return [OrderStage(), *streaming, SegmentStage()]


def entry_steps(targets: BuildTargets, module_name: str) -> list[PassOrStage]:
    """Return the steps from Relax to AoT TIR of each entry, and the stages of all entries."""

    @cache
    def search(entry: str) -> Callable[[IRModule], IRModule]:
        prefix = f"{symbol_prefix(module_name)}_{entry}"
        operators = operator_steps(targets.accelerators, prefix, targets.cpu, f"{entry}.")
        return _search([*operators, copy_stage(targets.cpu), *main_stages()])

    def lower(entry: str, alone: IRModule, streams: Streams) -> IRModule:
        with changed_context(config={**PassContext.current().config, **streams}):
            return search(entry)(alone)

    return [EntryGroupStage(), EntryStateStage(), LowerEntries(lower)]


def main_steps(targets: BuildTargets, module_name: str) -> list[PassOrStage]:
    """Return the steps from Relax to a main PrimFunc that calls operators in flat TIR."""
    prefix = symbol_prefix(module_name)
    return [
        # Fold states that no entry changes, because there is no other entry.
        FoldUnchangedStates(),
        *operator_steps(targets.accelerators, prefix, targets.cpu),
        copy_stage(targets.cpu),
    ]


def _search(steps: Sequence[PassOrStage]) -> Callable[[IRModule], IRModule]:
    """Return a function that finds the best form of a module by these steps."""
    how = object()

    def best(mod: IRModule) -> IRModule:
        options = planning_options()
        with planning_session(options.deadline()) as session:
            return Search(session, options, steps, how).best(mod).mod

    return best


def operator_steps(
    accelerators: Sequence[str],
    symbol_prefix: str,
    target: Target | None = None,
    state_prefix: str = "",
) -> list[PassOrStage]:
    """Return the steps from Relax to operators in flat TIR, for a target if it is known; names of
    states of windows begin with `state_prefix`."""
    options = planning_options()

    def lower_body(body: IRModule) -> IRModule:
        # Accelerators compute no part of a body, and no segment contains its operators.
        operators = operator_steps((), symbol_prefix, target)
        return _search([*operators, copy_stage(target), OrderStage()])(body)

    # Keep the model's layouts for the patterns of accelerators, and for windows.
    keeps_layout = bool(accelerators or options.hops)
    float_layout: list[PassOrStage] = [] if keeps_layout else [FloatLayoutStage()]
    return [
        # Check shapes first, because later errors do not name the operator.
        CheckShapes(),
        # Make names of inputs unique, because callers use them.
        MakeParameterNamesUnique(),
        # Record quantization while R.quantize and R.dequantize are there.
        AttachIOQuantization(),
        # C has no negative indices: wrap them while shapes are known.
        NormalizeTakeIndices(),
        # Normalize slices and concatenations, so that they can become views.
        NormalizeCopies(),
        # Fold padding into convolutions, so that padded images are not materialized.
        FoldPadding(),
        # Put channels last, so that an output pixel can overlap its input pixels.
        *float_layout,
        # Compute quantized operators in integers, which is smaller and faster.
        IntegerLayoutStage(),
        # Prune first: accelerators benefit as well.
        PruneConstantChannels(),
        # Convert windows before operators are fused, and in integers, so that states are small.
        ConvertWindowsToStates(state_prefix),
        # Partition before operators are fused, as patterns of accelerators match single operators.
        PartitionForAccelerators(accelerators),
        # Split before operators are fused, because strips read their records.
        StripStage(),
        # Lower functions of accelerators to calls before everything else is legalized.
        LowerAcceleratorFunctions(accelerators, symbol_prefix),
        # Legalize operators to PrimFuncs.
        LegalizeForFusion(),
        # Fuse element-wise operators into their producers, and keep their records.
        GroupStage(),
        FinishFusion(),
        # Bind the symbolic sizes of each PrimFunc to its call's arguments.
        BindSymbolicSizes(),
        # Refuse loops that would run for hours, which a small file can describe.
        CheckIterations(),
        # Select kernels first: an operator with a kernel needs no schedule.
        SelectKernels(core_of(target)),
        # Schedule before blocks are lowered, so that stages need no scratch tensors.
        ScheduleOperators(),
        # Lower to flat loops over pointers, which analyses read.
        LowerOperators(),
        # Pass handles of devices to functions of accelerators.
        TakeDevices(),
        *([] if target is None else _target_passes(target)),
        # Lower the bodies of loops and branches by the same steps.
        LowerControlFlow(lower_body),
    ]


def _target_passes(target: Target) -> list[Pass]:
    return [
        # Make loops serial, so that their iterations share allocations.
        ConvertForLoopsToSerial(),
        # Bind the target, which decides the candidate pools.
        tirx.transform.BindTarget(target),
        CheckAccelerators(target),
    ]


def planning_passes(
    board: Board | None, prefix: str = "tvmgen_default", ends_at_plan: bool = False
) -> list[Pass]:
    """Return the passes that plan the memory, with `prefix` for C symbols.

    Parameters
    ----------
    ends_at_plan
        whether to leave out the passes after the plan, which change the code only.
    """
    options = planning_options()
    planned = [
        # Replace every allocation by an offset into a pool.
        UnifiedStaticMemoryPlanner() if board is None else PlanForBoard(board),
        # Lower what could not be planned: allocations without an upper bound.
        LowerDynamicAllocations(),
    ]
    if ends_at_plan:
        return planned
    return [
        *planned,
        # In a debug build, overwrite dead bytes, so that a wrong plan gives a wrong result.
        *([PoisonDeadBytes()] if POISON_DEAD_BYTES in options.debug else []),
        # Call hooks after all other passes that add statements, which stay outside of hooks.
        *([CallOperatorHooks(prefix)] if PROFILE in options.debug else []),
        # Last, because analyses cannot see through the merged parameters.
        *([] if options.code == FAST else [MergeSimilarFunctions(options.code)]),
    ]


def lower_to_aot(
    mod: IRModule,
    accelerators: Sequence[str] = (),
    symbol_prefix: str = "tvmgen_default",
) -> IRModule:
    """Lower the Relax `main` of `mod` to `__tvm_main__` and flat operator PrimFuncs.

    The PassContext has the options of the planner (see `LowerMain`). The target and the pools of
    buffers are not known yet.

    Parameters
    ----------
    accelerators
        targets that take operators by patterns, the first one with priority.
    symbol_prefix
        prefix of the C functions of accelerators.

    Raises
    ------
    UnsupportedModelError
        a part of the model has no static C; the message names it.
    ValueError
        the module has a function for a target that is not among `accelerators`; options
        that the planner refuses.
    """
    mod = apply_passes(Sequential(module_passes(), name="usmp.LowerToAOT"), mod)
    return _search([*operator_steps(accelerators, symbol_prefix), copy_stage()])(mod)
