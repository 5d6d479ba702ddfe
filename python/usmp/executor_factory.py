"""The result of `usmp.build`: a compiled model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from tvm.ir import IRModule
from tvm.target import Target

from usmp.analysis.memory.facts import shared_facts
from usmp.boards.board import Board
from usmp.boards.project import project_files
from usmp.codegen.build_systems.build_system_files import build_system_files
from usmp.codegen.interface.entry_interface import IOTensor
from usmp.codegen.interface.module_interface import Interface, interface_of
from usmp.codegen.llvm import LLVMModule, compile_module
from usmp.codegen.metadata import metadata
from usmp.codegen.model_library_format import archive_files, write_archive
from usmp.codegen.sources.header import print_header
from usmp.codegen.sources.source import print_main_caller, print_sources
from usmp.names import DEFAULT_ARENA_BYTES
from usmp.objects import Executor, MemoryPlan, Runtime
from usmp.objects.arguments.executor import executor_of
from usmp.objects.attributes.module_attributes import (
    MEMORY_PLAN_ATTR,
    REFERENCE_ATTR,
)
from usmp.objects.state_layout import state_layout_of
from usmp.plain.size_expression import shape_text
from usmp.plain.state_layout import StateLayout
from usmp.report import memory_html, memory_summary
from usmp.runtime import HostModule
from usmp.runtime.archive import archive_of
from usmp.runtime.reference import ReferenceModule, load_reference
from usmp.support.process.compiler_lock import locked_property, one_at_a_time
from usmp.support.text.plain_text import shown
from usmp.support.tvm_errors import report_faults
from usmp.tvm018 import FACTORY, find
from usmp.tvm018.python_names import UNPACKED


@dataclass(frozen=True, eq=False)
class AOTExecutorFactoryModule:
    """A compiled model: planned TIR, C text, archive, and a way to run it here.

    Parameters
    ----------
    ir_mod
        the planned IRModule.
    module_name
        prefix of the C symbols.
    board
        the board that the model was built for.
    reference
        a build of the model without optimizations, to compare outputs with, as a compressed archive
        (see `usmp.reference_build`).

    Raises
    ------
    ValueError
        the module is not planned.
    """

    ir_mod: IRModule
    module_name: str
    board: Board | None = None
    reference: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check that the module is planned."""
        if not MEMORY_PLAN_ATTR.is_on(self.ir_mod):
            raise ValueError(
                "the module has no memory plan; run usmp.transform.UnifiedStaticMemoryPlanner over "
                "it first"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, because a copy computes properties again and has its own state."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __repr__(self) -> str:
        """Return a short text for notebooks; `ir_mod.show()` shows the rest."""
        pools = ", ".join(f"{shown(pool.name)} {pool.size_bytes}" for pool in self.interface.pools)
        lines = [
            f'AOTExecutorFactoryModule "{shown(self.module_name)}": RAM {self.ram_bytes} bytes',
            f"  pools: {pools}",
        ]
        for entry, (inputs, outputs) in self._described_entries().items():
            name = f"{shown(entry)}: " if len(self.interface.entries) > 1 else ""
            lines.append(f"  {name}{', '.join(inputs)} -> {', '.join(outputs)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return a table of the pools for notebooks, and the tensors of the interface."""
        return memory_html(self._module_metadata, self._described_entries())

    def _described_entries(self) -> dict[str, tuple[list[str], list[str]]]:
        """Return inputs and outputs of each entry, as text for users."""
        return {
            entry.name: (
                [_described(tensor) for tensor in entry.inputs],
                [_described(tensor) for tensor in entry.outputs],
            )
            for entry in self.interface.entries
        }

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Raise an AttributeError, with the reason for attributes of TVM 0.18."""
            row = find(FACTORY, name)
            if row is None:
                # Raise the error of a property, or of a missing attribute.
                return object.__getattribute__(self, name)
            raise AttributeError(row.sentence(), name=name, obj=self)

    def __iter__(self) -> NoReturn:
        """Raise a TypeError, because there are no graph, library and parameters to unpack."""
        raise TypeError(UNPACKED.sentence())

    @property
    def libmod_name(self) -> str:
        """The `module_name`, by its name in TVM 0.18."""
        return self.module_name

    @property
    def executor(self) -> Executor:
        """The executor that the model was built for."""
        return executor_of(self.ir_mod)

    @property
    def runtime(self) -> Runtime:
        """The runtime: "cpp" for packed functions, else "crt", although C needs none."""
        return Runtime("cpp" if self.executor.is_packed else "crt")

    @property
    def target(self) -> Target:
        """The target of the main function."""
        target: Target = self.ir_mod[self.interface.entries[0].function].attrs["target"]
        return target

    @property
    def params(self) -> dict[str, np.ndarray]:
        """Empty, because constants are part of the C."""
        return {}

    @property
    def devices(self) -> list[str]:
        """The accelerators that have functions: the members of the struct of devices."""
        return self.interface.devices

    def get_params(self) -> dict[str, np.ndarray]:
        """Return `params`, as TVM 0.18 did."""
        return self.params

    def get_devices(self) -> list[str]:
        """Return `devices`, as TVM 0.18 did."""
        return self.devices

    def get_executor_config(self) -> None:
        """Return nothing, as TVM 0.18 did: executor aot has no graph."""

    def summary(self) -> str:
        """Return the table that `tvmc compile` ends with.

        It has the peak and the lower bound of each pool, in bytes, the buffers that are live at the
        peak, and RAM and flash in all.
        """
        return memory_summary(self._module_metadata)

    @locked_property
    def interface(self) -> Interface:
        """Entries, inputs, outputs and pools, with their C names."""
        return interface_of(self.ir_mod, self.module_name)

    @property
    def memory_plan(self) -> MemoryPlan:
        """The place of every buffer."""
        plan = MEMORY_PLAN_ATTR.required(self.ir_mod)
        return plan

    @property
    def state_layout(self) -> StateLayout | None:
        """The places of all states; None if there are none."""
        return state_layout_of(self.ir_mod, self.module_name)

    @property
    def ram_bytes(self) -> int:
        """RAM of a run without the stack, in bytes: workspace pools, and the inputs and outputs of
        the entries that take most at once."""
        return int(self._module_metadata["memory"]["ram"]["size_bytes"])

    @locked_property
    def header(self) -> str:
        """The text of `tvmgen_<module_name>.h`."""
        with report_faults("to write the header"):
            return print_header(self.interface)

    @property
    def source(self) -> str:
        """The text of `<module_name>_lib0.c`, with the operators except for target llvm."""
        return self.sources[0]

    @locked_property
    def sources(self) -> list[str]:
        """The texts of `<module_name>_lib<N>.c`, by N."""
        with report_faults("to write the C"):
            if self._llvm is not None:
                return [print_main_caller(self.ir_mod, self.interface, self._llvm.mains)]
            return print_sources(self.ir_mod, self.interface)

    @locked_property
    def _llvm(self) -> LLVMModule | None:
        """The object file of operators and main functions for target llvm; None for target c."""
        if self.target.kind.name != "llvm":
            return None
        with report_faults("to make LLVM code"):
            return compile_module(self.ir_mod, self.interface, self.target)

    @property
    @one_at_a_time
    def metadata(self) -> dict[str, Any]:
        """The content of the archive's metadata.json."""
        with report_faults("to write the metadata"):
            return metadata(self.ir_mod, self.interface)

    @property
    def _module_metadata(self) -> dict[str, Any]:
        module: dict[str, Any] = self.metadata["modules"][self.module_name]
        return module

    @one_at_a_time
    def files(self) -> dict[str, bytes]:
        """Return the files of the archive: path -> content."""
        # Compute the facts once for all texts.
        with shared_facts():
            object_file = self._llvm.code if self._llvm is not None else None
            files = archive_files(
                self.ir_mod, self.interface, self.header, self.sources, object_file
            )
        project = project_files(self.interface, self.board) if self.board else {}
        return files | build_system_files(files) | project | self._reference_files

    @property
    def _reference_files(self) -> dict[str, bytes]:
        if self.reference is None:
            return {}
        return {REFERENCE_ATTR.required(self.ir_mod)["file"]: self.reference}

    def export_model_library_format(self, path: str | Path) -> None:
        """Write the archive, or raise OSError and leave an older file unchanged."""
        write_archive(self.files(), path)

    def load(
        self, sources: Sequence[str | Path] = (), arena_bytes: int = DEFAULT_ARENA_BYTES
    ) -> HostModule:
        """Build the model with the host's C compiler and load it into this process.

        `sources` are C files of the user with the functions of accelerators. `arena_bytes` limits
        the memory that the model may allocate while it runs.
        """
        files, metadata = self.files(), self._module_metadata
        return HostModule(files, metadata, sources=sources, arena_bytes=arena_bytes)

    def load_reference(self, sources: Sequence[str | Path] = ()) -> ReferenceModule:
        """Compile the reference build with the host's C compiler and load it into this process.

        Parameters
        ----------
        sources
            C files of the user with the functions of accelerators.

        Raises
        ------
        NoReference
            there is no reference build.
        """
        return load_reference(archive_of(self.files()), self.module_name, sources)

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        entry: str | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> dict[str, np.ndarray]:
        """Run the model, or one entry of it, once on this host; build it first if necessary.

        State persists between calls; `load` gives a module that can be reset. `entry` is the name
        of the entry, if there are several. `sizes` are symbolic sizes that do not follow from the
        shapes of the inputs.
        """
        return self._loaded.run(inputs, entry, sizes)

    @property
    def _loaded(self) -> HostModule:
        # Threads share the first module, because it has the state.
        kept = self.__dict__
        loaded: HostModule = kept.get("_loaded") or kept.setdefault("_loaded", self.load())
        return loaded


def _described(tensor: IOTensor) -> str:
    """Return name, element type and shape of a tensor."""
    extents = tensor.symbolic_extents or [int(extent) for extent in tensor.info.shape]
    return f"{shown(tensor.info.name)} {tensor.info.dtype}{shown(shape_text(extents))}"
