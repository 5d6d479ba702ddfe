"""usmp.build: from a Relax module to planned C, the whole way in one screenful."""

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
from usmp.current_context import in_current_context, with_core_of_options
from usmp.executor_factory import AOTExecutorFactoryModule, with_model_files
from usmp.frontend.build_models import Model, import_models, model_paths
from usmp.names import FLOAT, MODEL_NAMES
from usmp.objects import (
    ConstantMemoryPools,
    Executor,
    Runtime,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.attributes import (
    BOARD_POOLS_ATTR,
    CONCURRENT_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    EXECUTOR_ATTR,
    IO_MEMORY_POOL_ATTR,
    STATE_LAYOUT_ATTR,
    STATE_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.build_arguments import (
    check_executor,
    check_target_host,
    check_types,
    one_module_name,
    only_model,
)
from usmp.objects.described_target import OneTarget
from usmp.objects.executor import check_workspace_io, executor_with
from usmp.objects.module_pools import named_pools
from usmp.objects.runtime import check_runtime
from usmp.objects.state_layout import placed_states_of
from usmp.objects.targets import BuildTargets, parse_targets
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
from usmp.support.compiler_lock import one_at_a_time
from usmp.support.errors import naming_file
from usmp.support.tvm_errors import lowering, report_faults

_NOT_GIVEN: Any = None
"""The model, where it is `ir_mod`."""


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

    Options are read from the current `PassContext`, where those of TVM 0.18 are replaced, dropped
    with a warning of the class `CompatibilityNote`, or refused; so are the passes in its
    `disabled_pass`, of which those that optimize can be left out. The options are
    `tir.usmp.enable` (true by default; false is what comes closest to TVM 0.18 without USMP:
    `greedy_by_size` without overlap, streaming and other orders), `tir.usmp.algorithm`,
    `tir.usmp.custom_algorithm`, `tir.usmp.placement`, `tir.usmp.time_budget`,
    `tir.usmp.use_workspace_io`,
    `tir.usmp.preserve_inputs` (true keeps inputs in the workspace intact), `tir.usmp.overlap` (true
    by default; false lets no output overwrite what its operator has read of a dying input),
    `tir.usmp.order_operators` (true by default; false keeps the importer's order),
    `tir.usmp.max_extra_macs` (a percentage as "10%", 0 by default: how many more
    multiply-accumulates strips may take, see `usmp.relax.transform.SplitIntoStrips`),
    `tir.usmp.prune_constant_channels` (true by default; false computes channels of integer
    operators that are constant or that nothing reads, too), `tir.usmp.optimize` (the memory that
    fewer instructions may take, "ram" by default, see `usmp.transform.ChooseSchedules`),
    `tir.usmp.code` (the operators that may share code: "balanced", the default, "fast" or "small",
    see `usmp.transform.MergeSimilarFunctions`),
    `tir.usmp.dynamic_allocator` (what gives buffers whose size has no bound, "arena" by default,
    see `usmp.transform.LowerDynamicAllocations`),
    `tir.usmp.verify_kernels` (true compares each kernel with the operator that it replaces, on this
    host, see `usmp.aot.transform.SelectKernels`),
    `tir.usmp.profile` (true calls a function before and after each operator, see
    `usmp.transform.CallOperatorHooks`) and `tir.usmp.poison_dead_bytes` (a debug build, see
    `usmp.transform.PoisonDeadBytes`).

    Parameters
    ----------
    mod
        a Relax `main` of static shapes; its attribute `states` lists what it keeps between runs
        (see `StateInfo`). Or the path of a model file, as `usmp.import_model` reads it. All public
        functions of a module that has others than `main` are entries: `tvmgen_<module>_<entry>_run`
        calls each, and all share one plan. Of several models, in a list or by name, each is an
        entry; those in a list have the names of their files, or `model0`, `model1` and so on.
    target
        "c", for a Cortex-M as "c -mcpu=cortex-m4", "llvm" with options as "llvm -mcpu=cortex-m3",
        or several with accelerators, as "accel,c"; see `usmp.objects.targets`. Options of TVM
        0.18, as "c -model=nrf5340dk", JSON and JSON files are read too, with a warning.
    executor
        "aot", or an `Executor` with options.
    workspace_memory_pools
        memories for everything that is written; one internal pool by default.
    constant_memory_pools
        memories for constants; one internal pool by default.
    params
        values of parameters of `main`, by name; they become constants.
    module_name
        prefix of the C symbols, as `tvmgen_<module_name>_run`; "default" by default.
    board
        a board, or its name: pools lie in its memories (the user's have their names), inputs and
        outputs in the workspace unless `tir.usmp.use_workspace_io` says otherwise, the code is for
        its core, and the archive gains a project that builds a program for it.
    ir_mod, mod_name
        the names that `tvm.relay.build` had for `mod` and `module_name`; one of two.
    target_host
        None, or the CPU of `target`, as `tvm.relay.build` took it; main runs there.
    runtime
        "crt", "cpp" with packed functions, or a `Runtime`, as `tvm.relay.build` took it; C needs
        none.
    compare_workspace_io
        plan once more with inputs and outputs in the workspace, if they are not,
        and say in the metadata how much RAM that would take.
    concurrent
        entries that may run at once, as `[("encode", "step")]`: they share no memory, and each
        may interrupt the others. By default one runs after the other, in the same memory.
    shared_state
        of several models, whether states of one name are one; else each model has its own.
    state_memory_pool
        the pool that holds what is kept between runs, and nothing else: a workspace
        pool, or the name of one of `workspace_memory_pools` or of a memory of the board; a new
        pool of another name is provided by the application. By default states are in the workspace
        with everything else.
    io_memory_pool
        the pool that holds all inputs and outputs, which have to be in the workspace: the name of
        one of `workspace_memory_pools`, which other buffers may share unless its `io` is "only",
        or of another memory of the board, which then holds nothing else.
    state_layout
        where the states have to be: the `state_layout` of what an earlier version of the
        program was built from, or the path of its file. What is kept by the one version is then
        found by the other.
    io_type
        "float": inputs and outputs are as the model has them. "quantized": a float input that the
        model begins to quantize, and a float output that it dequantizes at its end, are the
        integers themselves; what they stand for is in the header and the metadata. "int8": the
        same, and all of them must be int8. See `usmp.relax.transform.ConvertIOToIntegers`.
    max_sizes
        how large sizes may be that the shapes of the inputs leave open, by name, as
        `usmp.import_model` takes them; of a module they are its shape variables. Of several models,
        each that has a size of the name.
    input_shapes
        the shapes of inputs of model files, by name, as `usmp.import_model` takes them; of several
        models, of each that has an input of the name.
    reference
        also build the model for target "c" without kernels, streaming, pruning or overlap. The
        archive holds that build compressed, and `tvmc run --board`, `tvmc run --serial` and
        `tvmc export-test` take the outputs to expect from it. None: if there is a board, or
        `target` names a core (`-mcpu`).
    c_names
        "model": outputs have their names in the model in C. "0.18": those of TVM 0.18, which are
        the same for `.tflite` files, and "output", or "output0", "output1" and so on for others.

    Raises
    ------
    UnsupportedModelError
        something in the model has no static C, or its file cannot be read.
    DoesNotFitError
        pools or memories of a board are too small; its attributes have the sizes.
    ValueError
        an option or a disabled pass of the PassContext that is refused, an unknown target, core,
        executor, runtime, algorithm, parameter or board, another target of the host, a runtime that
        cannot call the executor's functions, a board and a target for another core, two pools of
        one name, a state pool that leaves no workspace pool for everything else, a state layout
        that is damaged or does not fit the model, an I/O pool that is no workspace pool, pools for
        inputs and outputs that are not in the workspace, an `io_type` that is unknown or that no
        input and no output can have, unknown `c_names`, a size that no model has, or not as large,
        or a shape that no input of a file can have.
    TypeError
        something else in the place of the model, of the executor, of memory pools or of a state
        layout.
    OSError
        the file of the state layout cannot be read.
    FaultError
        usmp itself fails, which should be reported.
    """
    start_seconds = time.monotonic()
    board = board_named(board) if isinstance(board, str) else board
    given = with_core_of_options(parse_targets(target, takes_executor_options=True))
    targets = board_targets(board, given)
    check_llvm_target(targets.cpu)
    check_target_host(target_host, given)
    check_executor(executor)
    executor = executor_with(executor or "aot", given.executor_options)
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
    paths = model_paths(mod)
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
            given,
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
        with _planning(options):
            mod = _applied([search, *planning_passes(board, symbol_prefix(module_name))], mod)
        made = reference_build()
    factory = with_model_files(AOTExecutorFactoryModule(mod, module_name, board), paths)
    return factory if made is None else with_reference(factory, made)


def _applied(passes: list[Pass], mod: IRModule) -> IRModule:
    return apply_passes(Sequential(passes, name="usmp.build"), mod)


def _planning(options: PlanningOptions) -> AbstractContextManager[None]:
    """Faults in here are those of usmp, unless an algorithm of the user gives what is no plan."""
    is_own = options.custom_algorithm is None
    return report_faults("to plan the memory") if is_own else nullcontext()


def _pass_context(options: PlanningOptions) -> PassContext:
    """The current one, with these options."""
    current = PassContext.current()
    others = {k: v for k, v in current.config.items() if k not in OPTION_NAMES}
    return PassContext(
        opt_level=current.opt_level,
        required_pass=list(current.required_pass),
        disabled_pass=list(current.disabled_pass),
        instruments=list(current.instruments),
        config={**others, **options.config()},
    )
