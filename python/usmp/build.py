"""usmp.build: from a Relax module to planned C, the whole way in one screenful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.codegen.accelerator_functions import accelerator_functions
from usmp.codegen.board_project import project_files
from usmp.codegen.c_header import print_header
from usmp.codegen.c_source import print_main_caller, print_sources
from usmp.codegen.interface import Interface, interface_of
from usmp.codegen.llvm import LLVMModule, check_llvm_target, compile_module
from usmp.codegen.model_library_format import archive_files, metadata, write_archive
from usmp.codegen.names import symbol_prefix
from usmp.objects import (
    ConstantMemoryPools,
    Executor,
    MemoryPlan,
    UnsupportedModelError,
    WorkspaceMemoryPools,
)
from usmp.objects.attributes import (
    BOARD_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    EXECUTOR_ATTR,
    MAIN_FUNCTION_NAME,
    MEMORY_PLAN_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.board_pools import board_constant_pools, board_workspace_pools
from usmp.objects.boards import Board, board_named
from usmp.objects.executor import check_workspace_io
from usmp.objects.targets import BuildTargets, OneTarget, parse_targets
from usmp.plan_for_board import board_targets, check_board_executor, plan_for_board
from usmp.relax import lower_to_aot
from usmp.relax.bind_params import bind_params
from usmp.runtime import HostModule
from usmp.transform import (
    ConvertForLoopsToSerial,
    OrderOperators,
    PoisonDeadBytes,
    UnifiedStaticMemoryPlanner,
)


def build(
    mod: IRModule,
    target: OneTarget | Sequence[OneTarget] | BuildTargets = "c",
    executor: str | Executor | None = None,
    workspace_memory_pools: WorkspaceMemoryPools | None = None,
    constant_memory_pools: ConstantMemoryPools | None = None,
    params: Mapping[str, np.ndarray | tvm.runtime.Tensor] | None = None,
    module_name: str = "default",
    board: str | Board | None = None,
) -> AOTExecutorFactoryModule:
    """Compile a Relax module to C, or to an object file, with planned memory.

    Options are read from the current `PassContext`: `tir.usmp.enable` (true by default; false
    gives every buffer bytes of its own), `tir.usmp.algorithm`, `tir.usmp.custom_algorithm`,
    `tir.usmp.placement`, `tir.usmp.time_budget`, `tir.usmp.use_workspace_io`,
    `tir.usmp.preserve_inputs` (true keeps inputs in the workspace intact), `tir.usmp.overlap` (true
    by default; false lets no live buffers share bytes), `tir.usmp.order_operators` (true by
    default; false keeps the importer's order) and
    `tir.usmp.poison_dead_bytes` (a debug build, see `usmp.transform.PoisonDeadBytes`).

    Parameters
    ----------
    mod: a Relax `main` of static shapes; its attribute `states` lists what it keeps between runs
        (see `StateInfo`).
    target: "c", "llvm" with options as "llvm -mcpu=cortex-m3", or several with accelerators, as
        "accel,c"; see `usmp.objects.targets`.
    executor: "aot", or an `Executor` with options.
    workspace_memory_pools: memories for everything that is written; one internal pool by default.
    constant_memory_pools: memories for constants; one internal pool by default.
    params: values of parameters of `main`, by name; they become constants.
    module_name: prefix of the C symbols, as `tvmgen_<module_name>_run`.
    board: a board, or its name: pools lie in its memories (the user's have their names), inputs and
        outputs in the workspace unless `tir.usmp.use_workspace_io` says otherwise, and the archive
        gains a project that builds a program for it.

    Raises
    ------
    UnsupportedModelError: something in the model has no static C.
    ValueError: an unknown target, executor, algorithm, parameter or board, two pools of one name,
        or pools or memories of a board that are too small.
    TypeError: something else in the place of memory pools.
    """
    board = board_named(board) if isinstance(board, str) else board
    targets = board_targets(board, parse_targets(target))
    check_llvm_target(targets.cpu)
    executor = executor if isinstance(executor, Executor) else Executor(executor or "aot")
    _check_type(workspace_memory_pools, WorkspaceMemoryPools, "workspace_memory_pools")
    _check_type(constant_memory_pools, ConstantMemoryPools, "constant_memory_pools")
    if not module_name:
        raise ValueError("module_name is empty; it is the prefix of the C symbols")
    config = {"tir.usmp.use_workspace_io": board is not None, **PassContext.current().config}
    if board is not None:
        check_board_executor(board, executor)
        names = targets.names
        workspace_memory_pools = board_workspace_pools(board, names, workspace_memory_pools)
        constant_memory_pools = board_constant_pools(board, names, constant_memory_pools)
    check_workspace_io(executor, bool(config["tir.usmp.use_workspace_io"]))
    if params:
        mod = bind_params(mod, params)
    with _planner_context(config):
        mod = _lower(mod, targets, module_name)
    _check_accelerators(mod, targets, executor)
    mod = ConvertForLoopsToSerial()(mod)
    mod = tirx.transform.BindTarget(targets.cpu)(mod)
    mod = mod.with_attr(EXECUTOR_ATTR, executor)
    if workspace_memory_pools is not None:
        mod = mod.with_attr(WORKSPACE_MEMORY_POOLS_ATTR, workspace_memory_pools)
    if constant_memory_pools is not None:
        mod = mod.with_attr(CONSTANT_MEMORY_POOLS_ATTR, constant_memory_pools)
    with _planner_context(config):
        mod = OrderOperators()(mod)
        if board is None:
            mod = UnifiedStaticMemoryPlanner()(mod)
        else:
            mod = plan_for_board(mod.with_attr(BOARD_ATTR, board.name), board)
    if config.get("tir.usmp.poison_dead_bytes", False):
        mod = PoisonDeadBytes()(mod)
    return AOTExecutorFactoryModule(mod, module_name, board)


def _check_type(value: object, expected: type, what: str) -> None:
    if value is not None and not isinstance(value, expected):
        raise TypeError(f"{what} takes {expected.__name__}, not {type(value).__name__}")


def _lower(mod: IRModule, targets: BuildTargets, module_name: str) -> IRModule:
    """Lower; what TVM's own passes raise means that they cannot lower this model."""
    try:
        return lower_to_aot(mod, targets.accelerators, symbol_prefix(module_name))
    except ValueError:
        raise
    except Exception as error:
        text = " ".join(str(error).split("\n\n")[0].split()) or type(error).__name__
        raise UnsupportedModelError(f"TVM cannot lower the model: {text}") from error


def _check_accelerators(mod: IRModule, targets: BuildTargets, executor: Executor) -> None:
    """Return if the code for this target and interface can call the functions of accelerators."""
    functions = accelerator_functions(mod)
    if functions and targets.cpu.kind.name != "c":
        raise ValueError(
            f'target "{targets.cpu.kind.name}" cannot call functions of accelerators, such as '
            f"{functions[0].symbol}; use target c"
        )
    if functions and executor.is_packed:
        raise ValueError(
            "interface-api packed cannot pass the devices of accelerators, which "
            f"{functions[0].symbol} needs; use interface-api c"
        )


def _planner_context(config: dict[str, Any]) -> PassContext:
    """These options; with planning switched off, the algorithm that shares nothing."""
    current = PassContext.current()
    if not config.get("tir.usmp.enable", True):
        config.pop("tir.usmp.custom_algorithm", None)
        config.pop("tir.usmp.time_budget", None)
        config["tir.usmp.algorithm"] = "no_sharing"
    return PassContext(
        opt_level=current.opt_level,
        required_pass=list(current.required_pass),
        disabled_pass=list(current.disabled_pass),
        instruments=list(current.instruments),
        config=config,
    )


@dataclass(frozen=True, eq=False)
class AOTExecutorFactoryModule:
    """A compiled model: planned TIR, C text, archive, and a way to run it here.

    Parameters
    ----------
    ir_mod: the planned IRModule.
    module_name: prefix of the C symbols.
    board: the board that it was built for.
    """

    ir_mod: IRModule
    module_name: str
    board: Board | None = None

    @cached_property
    def interface(self) -> Interface:
        """Inputs, outputs and pools, with their C names."""
        return interface_of(self.ir_mod, self.module_name)

    @property
    def memory_plan(self) -> MemoryPlan:
        """Where every buffer is."""
        plan: MemoryPlan = self.ir_mod.attrs[MEMORY_PLAN_ATTR]
        return plan

    @cached_property
    def header(self) -> str:
        """The text of `tvmgen_<module_name>.h`."""
        return print_header(self.interface)

    @property
    def source(self) -> str:
        """The text of `<module_name>_lib0.c`; the operators are in it, except for target llvm."""
        return self.sources[0]

    @cached_property
    def sources(self) -> list[str]:
        """The texts of `<module_name>_lib<N>.c`, the N-th at index N."""
        if self._llvm is not None:
            return [print_main_caller(self.interface, self._llvm.main)]
        return print_sources(self.ir_mod, self.interface)

    @cached_property
    def _llvm(self) -> LLVMModule | None:
        """Operators and main function as an object file, for target llvm."""
        target = self.ir_mod[MAIN_FUNCTION_NAME].attrs["target"]
        if target.kind.name != "llvm":
            return None
        return compile_module(self.ir_mod, self.interface, target)

    @property
    def metadata(self) -> dict[str, Any]:
        """The content of the archive's metadata.json."""
        return metadata(self.ir_mod, self.interface)

    def files(self) -> dict[str, bytes]:
        """The files of the archive: path -> content."""
        object_file = self._llvm.code if self._llvm is not None else None
        files = archive_files(self.ir_mod, self.interface, self.header, self.sources, object_file)
        return files | (project_files(self.interface, self.board) if self.board else {})

    def export_model_library_format(self, path: str | Path) -> None:
        """Write the archive; `OSError` if that is not possible, and then no file is left."""
        write_archive(self.files(), path)

    def load(self, sources: Sequence[str | Path] = ()) -> HostModule:
        """Build the model with the host's C compiler and load it into this process.

        `sources` are C files of the user with the functions of accelerators.
        """
        metadata = self.metadata["modules"][self.module_name]
        return HostModule(self.files(), metadata, sources=sources)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the model once on this host, building it first if it was not yet.

        State is kept from one call to the next; `load` gives a module that can be reset.
        """
        return self._loaded.run(inputs)

    @cached_property
    def _loaded(self) -> HostModule:
        return self.load()
