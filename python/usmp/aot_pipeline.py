"""The passes from a Relax module to planned TIR, in their order, and why."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import Pass, Sequential
from tvm.target import Target

from usmp.aot.transform import (
    AttachIOQuantization,
    CheckAccelerators,
    ConvertWindowsToStates,
    LowerControlFlow,
    LowerEntries,
    LowerMain,
    LowerOperators,
    ScheduleOperators,
    SelectKernels,
    TakeDevices,
)
from usmp.boards.board import Board, board_named
from usmp.boards.board_targets import board_targets
from usmp.boards.plan_for_board import PlanForBoard
from usmp.codegen.names import symbol_prefix
from usmp.current_context import in_current_context, with_core_of_options
from usmp.names import FAST, FLOAT
from usmp.objects.cores import core_of
from usmp.objects.described_target import OneTarget
from usmp.objects.targets import BuildTargets, parse_targets
from usmp.passes import LockedSequential, apply_passes
from usmp.planning.options import PlanningOptions, planning_options
from usmp.relax.transform import (
    AddRootBlocks,
    BindSymbolicSizes,
    CheckCalls,
    CheckIterations,
    CheckShapes,
    ConvertBranches,
    ConvertImageLayout,
    ConvertIOToIntegers,
    ConvertQDQToIntegers,
    FoldPadding,
    FoldUnchangedStates,
    FuseOperators,
    InlineFunctions,
    LowerAcceleratorFunctions,
    MakeParameterNamesUnique,
    NormalizeCopies,
    NormalizeTakeIndices,
    PartitionForAccelerators,
    PruneConstantChannels,
    ResolveMatchCasts,
    SplitIntoStrips,
)
from usmp.transform import (
    CallOperatorHooks,
    ChooseSchedules,
    CompareWorkspaceIO,
    ConvertForLoopsToSerial,
    LowerDynamicAllocations,
    MergeSimilarFunctions,
    OrderOperators,
    PoisonDeadBytes,
    StreamIO,
    StreamOperators,
    UnifiedStaticMemoryPlanner,
)


def get_pipeline(
    target: OneTarget | Sequence[OneTarget] | BuildTargets = "c",
    module_name: str = "default",
    board: str | Board | None = None,
    *,
    compare_workspace_io: bool = False,
    several_entries: bool = False,
    io_type: str = FLOAT,
) -> Sequential:
    """The passes from a Relax module to planned TIR, which are those of `usmp.build`.

    The module may have the attributes `executor`, `workspace_memory_pools`,
    `constant_memory_pools`, `state_memory_pool`, `io_memory_pool` and `state_layout`, which
    `usmp.build` sets.
    Options are those of the current `PassContext`, when the passes run; `tir.usmp.profile` and
    `tir.usmp.poison_dead_bytes` are read here. For a board `usmp.build` also sets
    `tir.usmp.use_workspace_io` and the pools in its memories.
    Within a `usmp.planning.session.planning_session`, what one pass found of the module is there
    for the next.

    Parameters
    ----------
    target
        as for `usmp.build`.
    module_name
        prefix of the C symbols.
    board
        a board, or its name: the module's pools are in its memories.
    compare_workspace_io
        as for `usmp.build`.
    several_entries
        whether the entries of the module are others than `main`: then the passes up to the
        order of operators are those of `usmp.LowerEntries`, which applies them to each entry.
    io_type
        as for `usmp.build`.

    Returns
    -------
    Sequential
        its `passes` are the list; PassInstruments see each of them, as "usmp.LowerMain".

    Raises
    ------
    ValueError
        an unknown target, board or `io_type`, or options that the planner refuses.
    """
    board = board_named(board) if isinstance(board, str) else board
    targets = board_targets(board, with_core_of_options(parse_targets(target)))
    lowering = lower_entries if several_entries else lowering_passes
    return _BuildPasses(
        [
            *module_passes(),
            *interface_passes(io_type),
            *lowering(targets, module_name),
            *main_passes(targets.cpu, several_entries),
            *([CompareWorkspaceIO()] if compare_workspace_io else []),
            *planning_passes(board, several_entries, symbol_prefix(module_name)),
        ],
        name="usmp.Pipeline",
    )


class _BuildPasses(LockedSequential):
    """The passes of a build, which run within a PassContext with names of today."""

    @in_current_context
    def __call__(self, mod: IRModule) -> IRModule:
        """Apply the passes to a module."""
        return super().__call__(mod)


def module_passes() -> list[Pass]:
    """From what a Relax module may have to entries without calls of other functions and branches,
    as later passes take them."""
    return [
        # Branches may call functions.
        InlineFunctions(),
        # So do the shapes of what functions take.
        ResolveMatchCasts(),
        # Closures are calls of functions now; branches are not apart yet.
        CheckCalls(),
        # Each body of a branch is a module of its own.
        ConvertBranches(),
        AddRootBlocks(),
    ]


def interface_passes(io_type: str) -> list[Pass]:
    """What callers give and get, of all entries at once."""
    return [] if io_type == FLOAT else [ConvertIOToIntegers(io_type)]


def lower_entries(targets: BuildTargets, module_name: str) -> list[Pass]:
    """From Relax to AoT TIR, each entry by itself.

    Raises
    ------
    ValueError
        inputs are windows of which runs are given what is new.
    """
    hops = planning_options().hops
    if hops:
        raise ValueError(
            f"new rows of windows ({', '.join(hops)}) are for models whose only entry is main; "
            "compile each by itself, or leave the hops out of tir.usmp.stream_inputs"
        )

    def passes(entry: str) -> list[Pass]:
        return [
            *_entry_passes(targets, f"{symbol_prefix(module_name)}_{entry}"),
            LowerMain(targets.cpu),
            OrderOperators(),
            StreamOperators(),
        ]

    return [LowerEntries(passes)]


def lowering_passes(targets: BuildTargets, module_name: str) -> list[Pass]:
    """From Relax to operators that are flat TIR, and a Relax `main` that calls them."""
    return [
        # No other function could change them.
        FoldUnchangedStates(),
        *_entry_passes(targets, symbol_prefix(module_name)),
    ]


def _entry_passes(targets: BuildTargets, prefix: str) -> list[Pass]:
    return operator_passes(targets.accelerators, prefix, targets.cpu)


def operator_passes(
    accelerators: Sequence[str], symbol_prefix: str, target: Target | None = None
) -> list[Pass]:
    """From Relax to operators that are flat TIR, for a target if it is known."""
    choosing = [
        # Whoever computes them, accelerators too: fewer channels are less work.
        PruneConstantChannels(),
        # Operators are single ones and say what they compute; integers take the least to keep.
        ConvertWindowsToStates(),
        # Accelerators choose before operators are fused: their patterns are of single ones.
        PartitionForAccelerators(accelerators),
    ]
    functions = LowerAcceleratorFunctions(accelerators, symbol_prefix)
    after_fusion = [
        # Calls say what the sizes in a PrimFunc are.
        BindSymbolicSizes(),
        # A small file may describe loops that run for hours.
        CheckIterations(),
        # Those that have one need no schedule.
        SelectKernels(core_of(target)),
        # While there are blocks: stages keep no tensors of their own.
        ScheduleOperators(),
        # The analysis reads flat loops and pointers.
        LowerOperators(),
        # Functions of accelerators take the handle of their device.
        TakeDevices(),
        *([] if target is None else _target_passes(target)),
        # Bodies are lowered by the same passes, and join what is lowered here.
        LowerControlFlow(lambda: _body_passes(symbol_prefix, target)),
    ]
    options = planning_options()
    to_main = [LowerMain(target), OrderOperators(), *_io_passes(options), StreamOperators()]
    # Forms of operators are compared with all fused that may be; then some may be split.
    fused = [functions, FuseOperators(), *after_fusion]
    compared = [*choosing, *fused, *to_main]
    return [
        # Later passes would fail with errors that name no operator.
        CheckShapes(),
        # Callers know inputs by their names.
        MakeParameterNamesUnique(),
        # Here R.quantize and R.dequantize still say what the integers stand for.
        AttachIOQuantization(),
        # C does not count from the end.
        NormalizeTakeIndices(),
        # Slices and concatenations may copy nothing.
        NormalizeCopies(),
        # A convolution reads zeros around its image that are nowhere.
        FoldPadding(),
        # Pixels with their channels last may lie over those that they are made of. Patterns of
        # accelerators are of operators as the model has them, and so are windows.
        *([] if accelerators or options.hops else [ConvertImageLayout(compared)]),
        # What is quantized computes in integers; in float it is larger and slower.
        ConvertQDQToIntegers(compared),
        *choosing,
        # Accelerators compute as a whole what they compute. While all others have records.
        *([SplitIntoStrips([*fused, *to_main])] if options.max_extra_macs else []),
        functions,
        # From here on operators are PrimFuncs.
        FuseOperators([*after_fusion, *to_main]),
        *after_fusion,
    ]


def _body_passes(symbol_prefix: str, target: Target | None) -> list[Pass]:
    """From the Relax `main` of a body to `__tvm_main__`; accelerators compute no part of it."""
    return [*operator_passes((), symbol_prefix, target), LowerMain(target), OrderOperators()]


def _io_passes(options: PlanningOptions) -> list[Pass]:
    """What gives inputs and takes outputs by rows, if that is asked for."""
    return [StreamIO()] if options.streams_io else []


def _target_passes(target: Target) -> list[Pass]:
    return [
        # One iteration after the other may use what a loop allocates.
        ConvertForLoopsToSerial(),
        # Pools say which targets may access them.
        tirx.transform.BindTarget(target),
        CheckAccelerators(target),
    ]


def main_passes(target: Target, several_entries: bool = False) -> list[Pass]:
    """From there to `__tvm_main__` in TIR; it plans its candidates: which tensors are views of
    others."""
    return [] if several_entries else [LowerMain(target)]


def planning_passes(
    board: Board | None,
    several_entries: bool = False,
    prefix: str = "tvmgen_default",
) -> list[Pass]:
    """From there to planned TIR: order the calls of `main`, choose tiles, plan the memory.

    `prefix` is that of the C symbols.
    """
    code = planning_options().code
    return [
        # Few bytes are to be live at once.
        *([] if several_entries else [OrderOperators()]),
        # Beside the operators that read and write them, wherever these are now.
        *_io_passes(planning_options()),
        # What is left between some of them need not be there as a whole.
        *([] if several_entries else [StreamOperators()]),
        # Of all entries, for they share operators and memory.
        ChooseSchedules(),
        # Every allocation becomes an offset into a pool.
        UnifiedStaticMemoryPlanner() if board is None else PlanForBoard(board),
        # Those that have no place then: their size has no bound.
        LowerDynamicAllocations(),
        # A debug build: a wrong plan shows as a wrong result.
        *([PoisonDeadBytes()] if planning_options().poison_dead_bytes else []),
        # After all that comes between operators, so that nothing comes between one and its hooks.
        *([CallOperatorHooks(prefix)] if planning_options().profile else []),
        # Last: of what is a parameter then, analyses know nothing.
        *([] if code == FAST else [MergeSimilarFunctions(code)]),
    ]


def lower_to_aot(
    mod: IRModule,
    accelerators: Sequence[str] = (),
    symbol_prefix: str = "tvmgen_default",
) -> IRModule:
    """Lower the Relax `main` of `mod` to `__tvm_main__` and flat operator PrimFuncs.

    How memory will be planned is read from the PassContext (see `LowerMain`). Where the code
    will run, and in which pools its buffers will be, is not known yet.

    Parameters
    ----------
    accelerators
        targets that take what their patterns match, the one that chooses first in front.
    symbol_prefix
        of the C functions that they run.

    Raises
    ------
    UnsupportedModelError
        something in the model has no static C; the message names it.
    ValueError
        the module has a function for a target that is not among `accelerators`; options
        that the planner refuses.
    """
    passes = [*module_passes(), *operator_passes(accelerators, symbol_prefix), LowerMain()]
    return apply_passes(Sequential(passes, name="usmp.LowerToAOT"), mod)
