"""usmp.build: from a Relax module to planned C."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext, Sequential

from usmp.aot_pipeline import module_passes, planning_passes, search_pass
from usmp.boards.board import Board, board_named
from usmp.boards.board_targets import board_targets
from usmp.boards.plan_for_board import check_board_executor
from usmp.boards.pools import board_pools
from usmp.codegen.c.names import symbol_prefix
from usmp.codegen.llvm import check_llvm_target
from usmp.current_context import changed_context, in_current_context, with_core_of_options
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.frontend.build_models import Model, import_models
from usmp.names import FLOAT, MODEL_NAMES
from usmp.objects import (
    ConstantMemoryPools,
    Executor,
    Runtime,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.arguments.build_arguments import (
    check_executor,
    check_target_host,
    check_types,
    one_module_name,
    only_model,
)
from usmp.objects.arguments.executor import check_workspace_io, executor_with
from usmp.objects.arguments.runtime import check_runtime
from usmp.objects.attributes.module_attributes import (
    BOARD_POOLS_ATTR,
    CONCURRENT_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    EXECUTOR_ATTR,
    IO_MEMORY_POOL_ATTR,
    STATE_LAYOUT_ATTR,
    STATE_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.module_pools import named_pools
from usmp.objects.state_layout import placed_states_of
from usmp.objects.target.described_target import OneTarget
from usmp.objects.target.targets import BuildTargets, parse_targets
from usmp.passes import apply_passes
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.plain.state_layout import StateLayout, check_module_name
from usmp.planning.io_pools import choose_io_pool
from usmp.planning.options import (
    OPTION_NAMES,
    PlanningOptions,
    planning_options,
)
from usmp.planning.session import planning_session
from usmp.planning.state_pool import choose_state_pool
from usmp.reference_build import reference_meanwhile, with_reference
from usmp.relax.accelerators.known import can_take, check_accelerators, listed_accelerators
from usmp.relax.bind_params import bind_params
from usmp.relax.c_names import with_c_names, with_output_names
from usmp.relax.entries import relax_entries
from usmp.support.errors import naming_file
from usmp.support.process.compiler_lock import one_at_a_time
from usmp.support.tvm_errors import lowering, report_faults

_NOT_GIVEN: Any = None
"""The default of `mod`, if `ir_mod` has the model."""


@one_at_a_time
@in_current_context
def build(
    mod: Model | Sequence[Model] | Mapping[str, Model] = _NOT_GIVEN,
    target: OneTarget | Sequence[OneTarget] | BuildTargets = "c",
    executor: str | Executor | None = None,
    workspace_memory_pools: WorkspaceMemoryPools | None = None,
    constant_memory_pools: ConstantMemoryPools | None = None,
    params: Mapping[str, np.ndarray | tvm.runtime.Tensor] | None = None,
    module_name: str | None = None,
    board: str | Board | None = None,
    *,
    ir_mod: Model | Sequence[Model] | Mapping[str, Model] | None = None,
    target_host: OneTarget | None = None,
    mod_name: str | None = None,
    runtime: str | Runtime | None = None,
    compare_workspace_io: bool = False,
    concurrent: Sequence[Sequence[str]] = (),
    shared_state: bool = False,
    state_memory_pool: WorkspacePoolInfo | str | None = None,
    io_memory_pool: str | None = None,
    state_layout: StateLayout | str | Path | None = None,
    io_type: str = FLOAT,
    max_sizes: Mapping[str, int | None] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    reference: bool | None = False,
    c_names: str = MODEL_NAMES,
) -> AOTExecutorFactoryModule:
    """Compile a Relax module to C, or to an object file, with planned memory.

    Options come from the current `PassContext`. Its options of TVM 0.18 and its `disabled_pass` are
    replaced, dropped with a warning of the class `CompatibilityNote`, or refused; only passes that
    optimize can be disabled, see `usmp.names.OPTIONAL_PASSES`. The planner's options have the
    prefix `tir.usmp.`, see `usmp.names.PASS_OPTIONS` and `usmp.planning.options.PlanningOptions`:

    - `enable`: true by default; false is closest to TVM 0.18 without USMP: `greedy_by_size` without
      overlap, streaming and other orders
    - `algorithm`, `custom_algorithm`, `placement`, `time_budget`: how plans are searched
    - `use_workspace_io`, `preserve_inputs`, `stream_inputs`, `stream_outputs`: where inputs and
      outputs are; names of tensors as "x", windows of time as "x:hop=2", and "entry.x" if several
      entries have an "x"
    - `optimize`, `max_extra_macs`, `code`: what memory and flash may cost in instructions
    - `dynamic`: where buffers are whose sizes only a run knows
    - `debug`: some of "profile", "poison_dead_bytes" and "verify_kernels"

    Parameters
    ----------
    mod
        a Relax `main`, whose attribute `states` lists its states (see
        `StateInfo`); or the path of a model file, see `usmp.import_model`. If a module has other
        public functions than `main`, all of them are entries: `tvmgen_<module>_<entry>_run` calls
        each, and all share one plan. Of several models, in a list or by name, each is an entry;
        models in a list have the names of their files, or `model0`, `model1` and so on.
    target
        "c", for a Cortex-M as "c -mcpu=cortex-m4", "llvm" with options as "llvm -mcpu=cortex-m3",
        or several with accelerators, as "accel,c"; see `usmp.objects.target.targets`. Options of
        TVM 0.18, as "c -model=nrf5340dk", JSON and JSON files are read too, with a warning.
    executor
        "aot", or an `Executor` with options.
    workspace_memory_pools
        memories for all data but constants; one internal pool by default.
    constant_memory_pools
        memories for constants; one internal pool by default.
    params
        values of parameters of `main`, by name; they become constants.
    module_name
        prefix of the C symbols, as `tvmgen_<module_name>_run`; "default" by default.
    board
        a board, or its name. Pools lie in its memories (a user's pool by its name), inputs and
        outputs in the workspace by default. The code is for its core, and the archive gains a
        project that builds a program for it.
    ir_mod, mod_name
        names of `tvm.relay.build` for `mod` and `module_name`; give one of each pair.
    target_host
        None, or the CPU of `target` for `main`, as in `tvm.relay.build`.
    runtime
        "crt", "cpp" with packed functions, or a `Runtime`, as in `tvm.relay.build`; C needs none.
    compare_workspace_io
        whether to plan again with inputs and outputs in the workspace, if they are not, to record
        in the metadata how much RAM that would take.
    concurrent
        groups of entries that may run at once, as `[("encode", "step")]`: they share no memory, and
        each may interrupt the others. By default entries run one after the other, in shared memory.
    shared_state
        whether states with one name in several models are one state; else each model has its own.
    state_memory_pool
        the pool that holds states, and nothing else: a workspace pool, the name of one of
        `workspace_memory_pools` or of a memory of the board, or the name of a new pool that the
        application provides. By default states are in the workspace with everything else.
    io_memory_pool
        the pool that holds all inputs and outputs, which have to be in the workspace: the name of
        one of `workspace_memory_pools`, which other buffers may share unless its `io` is "only",
        or of another memory of the board, which then holds nothing else.
    state_layout
        the required places of states: the `state_layout` of an earlier version of the program, or
        the path of its file. One version then finds the states of the other.
    io_type
        "float": inputs and outputs have the types of the model. "quantized": float inputs that the
        model first quantizes, and float outputs that it last dequantizes, become integers; header
        and metadata have their quantization. "int8": like "quantized", but all of them must be
        int8. See `usmp.relax.transform.ConvertIOToIntegers`.
    max_sizes
        upper bounds of symbolic sizes of inputs, by name, see `usmp.import_model`; in a module,
        names of shape variables. With several models, a bound holds for each that has the name.
    input_shapes
        shapes of inputs of model files, by name, see `usmp.import_model`. With several models, a
        shape holds for each that has an input of the name.
    reference
        whether to also build the model for target "c" without kernels, streaming, pruning or
        overlap. The archive holds that build compressed. The commands `tvmc run --board`,
        `tvmc run --serial` and `tvmc export-test` compute the expected outputs by it. None: true
        with a board, or if `target` names a core (`-mcpu`).
    c_names
        "model": outputs have the model's names in C. "0.18": they have the names of TVM 0.18: the
        model's for `.tflite` files, else "output", or "output0", "output1" and so on.

    Raises
    ------
    UnsupportedModelError
        a part of the model has no static C, or its file cannot be read.
    DoesNotFitError
        pools or memories of a board are too small; its attributes have the sizes.
    ValueError
        a refused option or disabled pass of the PassContext, an unknown target, core, executor,
        runtime, algorithm, parameter or board, another target of the host, a runtime that cannot
        call the executor's functions, a board and a target for another core, two pools of one name,
        a state pool that leaves no workspace pool for everything else, a state layout that is
        damaged or does not fit the model, an I/O pool that is no workspace pool, pools for inputs
        and outputs that are not in the workspace, an `io_type` that is unknown or that no input and
        no output can have, unknown `c_names`, a size that no model has or can have, or a shape that
        no input can have.
    TypeError
        a model, executor, memory pool or state layout has another type.
    OSError
        the file of the state layout cannot be read.
    FaultError
        usmp itself fails; please report it.
    """
    start_seconds = time.monotonic()
    board = board_named(board) if isinstance(board, str) else board
    requested_targets = with_core_of_options(parse_targets(target, takes_executor_options=True))
    targets = board_targets(board, requested_targets)
    check_llvm_target(targets.cpu)
    check_target_host(target_host, requested_targets)
    check_executor(executor)
    executor = executor_with(executor or "aot", requested_targets.executor_options)
    runtime = Runtime(runtime) if isinstance(runtime, str) else runtime
    if isinstance(state_layout, str | Path):
        state_layout = StateLayout.read(state_layout)
    check_types(
        runtime=runtime,
        workspace_memory_pools=workspace_memory_pools,
        constant_memory_pools=constant_memory_pools,
        state_memory_pool=state_memory_pool,
        io_memory_pool=io_memory_pool,
        state_layout=state_layout,
    )
    check_runtime(runtime, executor)
    module_name = one_module_name(module_name, mod_name)
    mod = only_model(mod, ir_mod)
    path = mod if isinstance(mod, str | Path) else None
    mod = import_models(mod, shared_state, max_sizes or {}, input_shapes or {})
    mod = with_c_names(with_output_names(mod), c_names)
    if concurrent:
        mod = CONCURRENT_ATTR.put(mod, [list(names) for names in concurrent])
    several_entries = relax_entries(mod) != [ONLY_ENTRY]
    options = planning_options(workspace_io=board is not None)
    own_pools: list[str] = []
    if board is not None:
        check_board_executor(board, executor)
        workspace_memory_pools, constant_memory_pools, state_memory_pool, own_pools = board_pools(
            board,
            requested_targets,
            workspace_memory_pools,
            constant_memory_pools,
            state_memory_pool,
            io_memory_pool,
        )
    if state_memory_pool is not None:
        state_memory_pool = choose_state_pool(
            state_memory_pool, workspace_memory_pools, targets.names
        )
    check_workspace_io(executor, options.use_workspace_io)
    io_pool = choose_io_pool(
        io_memory_pool,
        workspace_memory_pools,
        constant_memory_pools,
        state_memory_pool,
        is_planned=options.use_workspace_io,
    )
    if params:
        mod = bind_params(mod, params)
    if reference is None:
        reference = board is not None or "mcpu" in targets.cpu.attrs
    taking = [name for name in targets.accelerators if can_take(name, mod)]
    plain = partial(build, mod, [*taking, "c"], module_name=module_name, io_type=io_type)
    mod = EXECUTOR_ATTR.put(mod, executor)
    if workspace_memory_pools is not None:
        mod = WORKSPACE_MEMORY_POOLS_ATTR.put(mod, workspace_memory_pools)
    if constant_memory_pools is not None:
        mod = CONSTANT_MEMORY_POOLS_ATTR.put(mod, constant_memory_pools)
    if state_memory_pool is not None:
        mod = STATE_MEMORY_POOL_ATTR.put(mod, state_memory_pool)
    if io_pool is not None:
        mod = IO_MEMORY_POOL_ATTR.put(mod, io_pool)
    if own_pools:
        mod = BOARD_POOLS_ATTR.put(mod, own_pools)
    listed = listed_accelerators(named_pools(mod))
    check_accelerators(targets.accelerators, mod, listed)
    if state_layout is not None:
        check_module_name(state_layout, module_name)
        mod = STATE_LAYOUT_ATTR.put(mod, placed_states_of(state_layout))
    with (
        naming_file(path),
        reference_meanwhile(
            plain if reference else None, prune=bool(targets.accelerators)
        ) as reference_build,
        _pass_context(options),
        planning_session(options.deadline(start_seconds)) as session,
    ):
        with lowering():
            mod = session.once("module", mod, partial(_applied, module_passes(), mod))
        search = search_pass(
            targets,
            module_name,
            compare_workspace_io=compare_workspace_io,
            several_entries=several_entries,
            io_type=io_type,
        )
        planning = planning_passes(board, symbol_prefix(module_name), session.ends_at_plan)
        with _planning(options):
            mod = _applied([search, *planning], mod)
        reference_result = reference_build()
    factory = AOTExecutorFactoryModule(mod, module_name, board)
    return factory if reference_result is None else with_reference(factory, reference_result)


def _applied(passes: list[Pass], mod: IRModule) -> IRModule:
    return apply_passes(Sequential(passes, name="usmp.build"), mod)


def _planning(options: PlanningOptions) -> AbstractContextManager[None]:
    """Return a context in which errors are faults of usmp, unless a user's algorithm plans."""
    is_own = options.custom_algorithm is None
    return report_faults("to plan the memory") if is_own else nullcontext()


def _pass_context(options: PlanningOptions) -> PassContext:
    """Return the current PassContext with these options."""
    config = PassContext.current().config
    others = {k: v for k, v in config.items() if k not in OPTION_NAMES}
    return changed_context(config={**others, **options.config()})
