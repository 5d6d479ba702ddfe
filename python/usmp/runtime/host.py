"""Build the emitted C with the host's compiler and run it: numpy in, numpy out."""

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
from usmp.support.temporary_folder import temporary_folder
from usmp.support.tvmc_exception import TVMCException

_WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
_TENSOR_ALIGNMENT = 16
_ARENA_ALIGNMENT = 64
"""So that what buffers lose to their alignment does not depend on the run."""


class RunError(TVMCException, RuntimeError):
    """A run of a model failed; the message says how."""


@dataclass(frozen=True)
class HostEntry:
    """What an entry takes and gives: shape, dtype and more by the name of a tensor, and the bounds
    of symbolic sizes by their names, as in metadata.json."""

    inputs: dict[str, dict[str, Any]]
    outputs: dict[str, dict[str, Any]]
    sizes: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, main: Mapping[str, Any]) -> HostEntry:
        """As `functions.main[]` of metadata.json says."""
        return cls(main["inputs"], main["outputs"], main.get("sizes", {}))

    @property
    def updated(self) -> dict[str, dict[str, Any]]:
        """Return the inputs that a run updates in place, by name."""
        return {name: info for name, info in self.inputs.items() if info.get("updated")}

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """Return what a run gives, by name: the outputs, then the inputs that it updates."""
        return {**self.outputs, **self.updated}


class HostModule(NotCopied):
    """A compiled model, loaded into this process, with memory of its own.

    A model with state keeps it from one `run` to the next, of whichever entry; each `HostModule`
    has its own. Threads that share a `HostModule` run it in turn. It cannot be copied or pickled.

    Parameters
    ----------
    files
        the files of a Model Library Format archive, path -> content.
    metadata
        the parsed metadata of one of its modules.
    flags
        options for the C compiler beside the standard and the warnings.
    sources
        C files of the user with the functions of accelerators.
    arena_bytes
        of the arena that the model is given, if it allocates while it runs; 64 MiB by default.

    Raises
    ------
    ValueError
        a negative number of bytes.
    BuildError
        no C compiler, it reports an error or a warning, or it builds for another machine;
        a function of an accelerator that no source defines.
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
        """Held by the thread that runs the model, whose memory all runs share."""

    @property
    def library(self) -> ctypes.CDLL:
        """The loaded library, with all external functions and variables of its C."""
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
        found: dict[str, EntryPoints] = {}
        for name, own in prefixes.items():
            has_workspace_io = hasattr(self._library, f"{own}_map_inputs")
            interface = WorkspaceIOInterface if has_workspace_io else CInterface
            entry = self.entries[name]
            rows = TensorRows.of(entry.inputs, entry.outputs)
            arena = self._arena if name in self._takes_arena else None
            updated = [index for index, n in enumerate(entry.inputs) if n in entry.updated]
            found[name] = interface(self._library, own, prefix, self._devices, rows, arena, updated)
        return found

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
            an array for each input, of its shape and element type.
        entry
            which entry to run; the only one by default.
        sizes
            symbolic sizes by name; those that follow from the shapes of the inputs can be left out.

        Returns
        -------
        dict[str, np.ndarray]
            An array for each output, by name, and for each input that the run updates in place. The
            given array of such an input is updated, too, unless it is read-only.

        Raises
        ------
        ValueError
            an input is missing, unknown, or of another shape or element type; a size is out of
            its range, or does not follow from the inputs and is not given; there is no entry of
            this name, or several and no name.
        ArenaExhausted
            the arena is too small for these inputs.
        RunError
            the model returned an error.
        """
        entry = chosen_entry(self.name, list(self.entries), entry)
        described = self.entries[entry]
        given, values = checked_run(described.inputs, described.sizes, inputs, sizes)
        arrays = _copies(given)
        results = {
            name: aligned_empty(info["shape"], info["dtype"])
            for name, info in at_sizes(described.outputs, values).items()
        }
        buffers = list(arrays.values()), list(results.values()), self._pool_memory
        with self.lock:
            if self._arena is not None:
                self._arena.reset()
            status = self._entry_points[entry].run(*buffers, list(values.values()))
            if status != 0:
                self._check_arena(status, entry)
                what = f"model {self.name}" + (f", entry {entry}," if len(self.entries) > 1 else "")
                raise RunError(f"{what} returned {status}")
        for name in described.updated:
            results[name] = arrays[name]
            if given[name].flags.writeable:
                given[name][...] = arrays[name]
        return results

    @property
    def arena_high_water(self) -> int:
        """The most bytes of the arena that the last run had in use, or asked for, at one time; 0 if
        the model takes no arena."""
        return 0 if self._arena is None else self._arena.high_water

    def _check_arena(self, status: int, entry: str) -> None:
        """Say what is missing, if it is memory."""
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
        """Let the next run begin as the first one did; only state is kept between runs."""
        if self._has_state:
            with self.lock:
                next(iter(self._entry_points.values())).reset(self._pool_memory)

    def _provide(self, pool: Mapping[str, Any]) -> np.ndarray:
        """Memory for an external pool; a constant pool with its content, or else zeros."""
        size, alignment = pool["size_bytes"], pool["alignment_bytes"]
        first = pool.get("first_byte", 0)
        # As far from an aligned address as where the pool is on the device.
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


def _copies(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Aligned copies: a model may write to an input that lives in its workspace."""
    arrays = {}
    for name, array in given.items():
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
    """Compile the sources of an archive, and C files of the user, into a shared library in
    `directory`.

    That of a packed interface is loaded into a process that has tvm-ffi, and needs its headers.

    Raises
    ------
    BuildError
        no C compiler, it reports an error or a warning, or an object file of the archive
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
    """An array without content whose first byte is aligned to `alignment` bytes."""
    element = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * element.itemsize
    raw = np.empty(size + alignment, dtype=np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + size].view(element).reshape(tuple(shape))


def _prefix(files: Mapping[str, bytes]) -> str:
    """The prefix of the C symbols, from the name of the header."""
    stems = (Path(name).stem for name in files if name.endswith(".h"))
    return next(stem for stem in stems if stem.startswith("tvmgen_"))


def _host_pool(pool: Mapping[str, Any]) -> str:
    return f"usmp_host_{pool['c_name']}"


def _pool_definitions(prefix: str, pools: Sequence[Mapping[str, Any]]) -> str:
    """Return C with the content of external constant pools, without the bytes of others before
    it."""
    lines = [f'#include "{prefix}.h"']
    for pool in pools:
        data = f"{prefix}_{pool['c_name']}".upper() + "_CONSTANT_POOL_DATA"
        lines.append(f"const uint8_t {_host_pool(pool)}[{pool['size_bytes']}] = {{ {data} }};")
    return "\n".join(lines) + "\n"
