"""Build the emitted C with the compiler of the host, and run it on NumPy arrays."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from usmp.names import DEFAULT_ARENA_BYTES
from usmp.plain.c_interface import ANY_ADDRESS_MACRO, NO_MEMORY
from usmp.plain.entry_names import ONLY_ENTRY, c_prefix_of_entry, chosen_entry
from usmp.runtime.arena import ArenaExhausted, HostArena
from usmp.runtime.c_compiler import DEFAULT_FLAGS, BuildError, compile_c, tvm_ffi_include
from usmp.runtime.extra_sources import check_sources, compile_sources
from usmp.runtime.host_calls import (
    CInterface,
    EntryPoints,
    PackedInterface,
    WorkspaceIOInterface,
    load_packed,
)
from usmp.runtime.inputs import checked_run
from usmp.runtime.object_file import foreign_machine
from usmp.runtime.row_callbacks import TensorRows
from usmp.runtime.sizes import at_sizes
from usmp.runtime.write_files import write_files
from usmp.support.not_copied import NotCopied
from usmp.support.process.temporary_folder import temporary_folder
from usmp.support.tvmc_exception import TVMCException

_WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
_TENSOR_ALIGNMENT = 16
_ARENA_ALIGNMENT = 64
"""Alignment of the arena, so that the padding between its buffers is the same in each run."""


class RunError(TVMCException, RuntimeError):
    """A run of a model failed; the message has the reason."""


@dataclass(frozen=True)
class HostEntry:
    """The inputs and outputs of an entry by name (shape, dtype and more), and the bounds of its
    symbolic sizes by name, as in metadata.json."""

    inputs: dict[str, dict[str, Any]]
    outputs: dict[str, dict[str, Any]]
    sizes: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, main: Mapping[str, Any]) -> HostEntry:
        """Construct an entry from an item of `functions.main` in metadata.json."""
        return cls(main["inputs"], main["outputs"], main.get("sizes", {}))

    @property
    def updated(self) -> dict[str, dict[str, Any]]:
        """The inputs that a run updates in place, by name."""
        return {name: info for name, info in self.inputs.items() if info.get("updated")}

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """The results of a run by name: the outputs, then the updated inputs."""
        return {**self.outputs, **self.updated}


class HostModule(NotCopied):
    """A compiled model that is loaded into this process, with its own memory.

    Each `HostModule` has its own state, which all runs of all entries share. Threads that share a
    `HostModule` take turns. It cannot be copied or pickled.

    Parameters
    ----------
    files
        files of a Model Library Format archive by path.
    metadata
        parsed metadata of one of its modules.
    flags
        further options of the C compiler.
    sources
        C files of the user with functions of accelerators.
    arena_bytes
        size of the arena for a model that allocates at run time; 64 MiB by default.

    Raises
    ------
    ValueError
        the size of the arena is negative.
    BuildError
        there is no C compiler, it reports an error or a warning, the code is for another machine,
        or no source defines a function of an accelerator.
    """

    _owns = "a loaded library and the memory of its pools"
    _instead = "make another one of the same archive, or of the same files"

    def __init__(
        self,
        files: Mapping[str, bytes],
        metadata: Mapping[str, Any],
        flags: Sequence[str] = DEFAULT_FLAGS,
        sources: Sequence[str | Path] = (),
        arena_bytes: int = DEFAULT_ARENA_BYTES,
    ) -> None:
        if arena_bytes < 0:
            raise ValueError(f"an arena has 0 bytes or more, not {arena_bytes}")
        self.name = str(metadata["model_name"])
        mains = metadata["memory"]["functions"]["main"]
        self.entries = {str(main.get("entry", ONLY_ENTRY)): HostEntry.of(main) for main in mains}
        self._has_state = any(main.get("state_size_bytes") for main in mains)
        pools = metadata["memory"]["pools"]
        self._pools = [pool for pool in pools if not pool["internal"]]
        self._devices = len(metadata.get("devices", []))
        self._takes_arena = {
            name for name, main in zip(self.entries, mains, strict=True) if main.get("takes_arena")
        }
        self._arena: HostArena | None = None
        check_sources(metadata, sources)
        folders = ExitStack()
        directory = folders.enter_context(temporary_folder())
        self._cleanup = weakref.finalize(self, folders.close)
        is_packed = metadata.get("interface_api") == "packed"
        path = build_shared_library(files, pools, directory, flags, is_packed, sources)
        try:
            self._library = ctypes.CDLL(str(path))
            if self._takes_arena:
                self._arena = HostArena(self._library, _arena_memory(arena_bytes))
            self._entry_points = self._find_entry_points(path, _prefix(files), is_packed)
        except (OSError, AttributeError) as error:
            raise BuildError(f"the built model cannot be loaded on this host: {error}") from error
        self._pool_memory = [self._provide(pool) for pool in self._pools]
        self.lock = RLock()
        """Lock of the thread that runs the model, because all runs share its memory."""

    @property
    def library(self) -> ctypes.CDLL:
        """The loaded library with the external functions and variables of the C."""
        return self._library

    @property
    def inputs(self) -> dict[str, dict[str, Any]]:
        """The inputs of the only entry; `ValueError` if there are several."""
        return self.entries[chosen_entry(self.name, list(self.entries))].inputs

    @property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """The outputs of the only entry; `ValueError` if there are several."""
        return self.entries[chosen_entry(self.name, list(self.entries))].outputs

    @property
    def sizes(self) -> dict[str, dict[str, Any]]:
        """The symbolic sizes of the only entry; `ValueError` if there are several."""
        return self.entries[chosen_entry(self.name, list(self.entries))].sizes

    def _find_entry_points(
        self, library: Path, prefix: str, is_packed: bool
    ) -> dict[str, EntryPoints]:
        names = list(self.entries)
        prefixes = {name: c_prefix_of_entry(prefix, name, names) for name in names}
        if is_packed:
            module = load_packed(library)
            return {name: PackedInterface(module, prefixes[name], prefix) for name in names}
        entry_points: dict[str, EntryPoints] = {}
        for name, entry_prefix in prefixes.items():
            has_workspace_io = hasattr(self._library, f"{entry_prefix}_map_inputs")
            interface = WorkspaceIOInterface if has_workspace_io else CInterface
            entry = self.entries[name]
            rows = TensorRows.of(entry.inputs, entry.outputs)
            arena = self._arena if name in self._takes_arena else None
            updated = [index for index, n in enumerate(entry.inputs) if n in entry.updated]
            entry_points[name] = interface(
                self._library, entry_prefix, prefix, self._devices, rows, arena, updated
            )
        return entry_points

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        entry: str | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> dict[str, np.ndarray]:
        """Run the model, or one entry of it, once.

        Parameters
        ----------
        inputs
            an array for each input, with the input's shape and element type.
        entry
            name of the entry to run; optional if there is only one.
        sizes
            symbolic sizes by name; sizes that follow from the shapes of inputs are optional.

        Returns
        -------
        dict[str, np.ndarray]
            Arrays of the outputs and of the updated inputs, by name. The caller's array of an
            updated input changes too, unless it is read-only.

        Raises
        ------
        ValueError
            an input is missing, unknown, or has another shape or element type; a size is unknown or
            out of range; or the entry is unknown or not named.
        ArenaExhausted
            the arena is too small for these inputs.
        RunError
            the model returned an error.
        """
        entry = chosen_entry(self.name, list(self.entries), entry)
        host_entry = self.entries[entry]
        checked, values = checked_run(host_entry.inputs, host_entry.sizes, inputs, sizes)
        arrays = _copies(checked)
        results = {
            name: aligned_empty(info["shape"], info["dtype"])
            for name, info in at_sizes(host_entry.outputs, values).items()
        }
        buffers = list(arrays.values()), list(results.values()), self._pool_memory
        with self.lock:
            if self._arena is not None:
                self._arena.reset()
            status = self._entry_points[entry].run(*buffers, list(values.values()))
            if status != 0:
                self._check_arena(status, entry)
                subject = f"model {self.name}" + (
                    f", entry {entry}," if len(self.entries) > 1 else ""
                )
                raise RunError(f"{subject} returned {status}")
        for name in host_entry.updated:
            results[name] = arrays[name]
            if checked[name].flags.writeable:
                checked[name][...] = arrays[name]
        return results

    @property
    def arena_high_water(self) -> int:
        """The high-water mark of the arena in the last run, in bytes; 0 without an arena."""
        return 0 if self._arena is None else self._arena.high_water

    def _check_arena(self, status: int, entry: str) -> None:
        """Raise the cause if a run of an entry with an arena failed with `NO_MEMORY`."""
        arena = self._arena if entry in self._takes_arena else None
        if arena is None or status != NO_MEMORY:
            return
        if arena.high_water > arena.capacity:
            needed = arena.high_water
            raise ArenaExhausted(
                f"model {self.name} needs an arena of at least {needed} bytes for these inputs, "
                f"but has one of {arena.capacity}; give it more (tvmc run --arena-bytes {needed}, "
                f"or arena_bytes={needed} in Python)",
                needed,
            )
        raise RunError(
            f"model {self.name} computed the size of a buffer from these inputs that no buffer has:"
            " it is negative, or has more elements than can be indexed"
        )

    def reset(self) -> None:
        """Reset the state, so that the next run begins like the first one."""
        if self._has_state:
            with self.lock:
                next(iter(self._entry_points.values())).reset(self._pool_memory)

    def _provide(self, pool: Mapping[str, Any]) -> np.ndarray:
        """Allocate an external pool: a constant pool with its content, other pools with zeros."""
        size, alignment = pool["size_bytes"], pool["alignment_bytes"]
        first = pool.get("first_byte", 0)
        # Start at the same distance from an aligned address as on the device.
        skipped = pool.get("address", 0) % alignment
        memory = aligned_empty([skipped + first + max(size, 1)], "uint8", alignment)[skipped:]
        memory[first:] = 0
        if pool["kind"] == "constant" and size:
            content = ctypes.addressof(ctypes.c_uint8.in_dll(self._library, _host_pool(pool)))
            ctypes.memmove(memory[first:].ctypes.data, content, size)
        return memory


def _arena_memory(size_bytes: int) -> np.ndarray:
    try:
        return aligned_empty([size_bytes], "uint8", _ARENA_ALIGNMENT)
    except (MemoryError, ValueError) as error:
        raise ValueError(
            f"this host has no {size_bytes} bytes for an arena; give it less"
        ) from error


def _copies(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Copy arrays into aligned memory, because a model may write to its inputs."""
    arrays = {}
    for name, array in inputs.items():
        arrays[name] = aligned_empty(array.shape, str(array.dtype))
        arrays[name][...] = array
    return arrays


def build_shared_library(
    files: Mapping[str, bytes],
    pools: Sequence[Mapping[str, Any]],
    directory: Path,
    flags: Sequence[str] = DEFAULT_FLAGS,
    is_packed: bool = False,
    user_sources: Sequence[str | Path] = (),
) -> Path:
    """Compile an archive and C files of the user into a shared library in `directory`.

    A packed interface needs the headers of tvm-ffi.

    Raises
    ------
    BuildError
        there is no C compiler, it reports an error or a warning, or an object file of the archive
        is for another machine.
    """
    code = {name: content for name, content in files.items() if name.startswith("codegen/")}
    for name, content in code.items():
        machine = foreign_machine(content) if name.endswith(".o") else None
        if machine:
            raise BuildError(
                f"{name} is code for {machine}, not for this host; link the archive's files "
                "with that machine's compiler, or compile the model with target c or llvm "
                "without options to run it here"
            )
    sources = [path for path in write_files(code, directory) if path.suffix in (".c", ".o")]
    include = directory / "codegen/host/include"
    sources += compile_sources(user_sources, include, directory, flags)
    external = [pool for pool in pools if not pool["internal"]]
    constants = [p for p in external if p["kind"] == "constant" and p["size_bytes"]]
    if constants:
        path = directory / "host_pools.c"
        path.write_text(_pool_definitions(_prefix(files), constants))
        sources.append(path)
    library = directory / "model.so"
    options = [f"-std={'c11' if is_packed else 'c99'}", *_WARNINGS, *flags, "-shared", "-fPIC"]
    options += [f"-D{ANY_ADDRESS_MACRO}"] if any("address" in pool for pool in pools) else []
    options += [f"-I{include}", *(tvm_ffi_include() if is_packed else [])]
    compile_c([*options, *map(str, sources), "-lm"], library)
    return library


def aligned_empty(
    shape: Sequence[int], dtype: str, alignment: int = _TENSOR_ALIGNMENT
) -> np.ndarray:
    """Return an uninitialized array whose first byte is aligned to `alignment` bytes."""
    element = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * element.itemsize
    raw = np.empty(size + alignment, dtype=np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + size].view(element).reshape(tuple(shape))


def _prefix(files: Mapping[str, bytes]) -> str:
    """Return the prefix of the C symbols, from the name of the header."""
    stems = (Path(name).stem for name in files if name.endswith(".h"))
    return next(stem for stem in stems if stem.startswith("tvmgen_"))


def _host_pool(pool: Mapping[str, Any]) -> str:
    return f"usmp_host_{pool['c_name']}"


def _pool_definitions(prefix: str, pools: Sequence[Mapping[str, Any]]) -> str:
    """Return C with the contents of external constant pools, from their first byte on."""
    lines = [f'#include "{prefix}.h"']
    for pool in pools:
        data = f"{prefix}_{pool['c_name']}".upper() + "_CONSTANT_POOL_DATA"
        lines.append(f"const uint8_t {_host_pool(pool)}[{pool['size_bytes']}] = {{ {data} }};")
    return "\n".join(lines) + "\n"
