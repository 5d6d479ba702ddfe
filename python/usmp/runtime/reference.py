"""Run the reference build of an archive, which computes the expected outputs of other builds."""

from __future__ import annotations

import bz2
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from usmp.plain.entry_names import chosen_entry
from usmp.plain.model_library_format import largest_reference
from usmp.runtime.archive import Archive, archive_of
from usmp.runtime.archived.module import ArchivedModule
from usmp.runtime.archived.read_metadata import DamagedMetadata
from usmp.runtime.archived.read_tar import ArchiveError, files_of_tar
from usmp.runtime.host import HostEntry, HostModule
from usmp.runtime.inputs import checked_run
from usmp.support.not_copied import NotCopied
from usmp.support.text.plain_text import printable, shown

REFERENCE = "those of a build without kernels, streaming, pruning or overlap, which this host ran"
"""Description of the expected outputs in sentences."""


class NoReference(ValueError):
    """An archive has no reference build; the message has the reason."""


class ReferenceModule(NotCopied):
    """A reference build that is loaded into this process, with the interface of the main build.

    Parameters
    ----------
    host
        the reference build.
    module
        the main build.
    """

    _owns = "the reference build that is loaded, and its windows"
    _instead = "load it from the archive again"

    def __init__(self, host: HostModule, module: ArchivedModule) -> None:
        self.entries = _entries_of(module)
        self._host = host
        self._slides = {name: list(windows) for name, windows in _windows_of(module).items()}
        self._windows: dict[tuple[str, str], np.ndarray] = {}

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        entry: str | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> dict[str, np.ndarray]:
        """Run an entry once, as `HostModule.run` does.

        Raises
        ------
        ValueError, RuntimeError
            as in `HostModule.run`.
        """
        chosen = chosen_entry(self._host.name, list(self.entries), entry)
        if not self._slides[chosen]:
            return self._host.run(inputs, entry, sizes)
        host_entry = self.entries[chosen]
        rows, values = checked_run(host_entry.inputs, host_entry.sizes, inputs, sizes)
        with self._host.lock:
            windows = {name: self._slid(chosen, name, array) for name, array in rows.items()}
            return self._host.run(windows, entry, values)

    def reset(self) -> None:
        """Reset the state, so that the next run begins like the first one."""
        with self._host.lock:
            self._windows.clear()
            self._host.reset()

    def _slid(self, entry: str, name: str, rows: np.ndarray) -> np.ndarray:
        """Move the new rows of an input into its window, and return the window.

        The reference build takes whole windows, filled with the zero point before the first run.
        """
        if name not in self._slides[entry]:
            return rows
        info = self._host.entries[entry].inputs[name]
        zero = info.get("quantization", {}).get("zero_point", 0)
        window = self._windows.get((entry, name), np.full(info["shape"], zero, info["dtype"]))
        axis = _row_axis(window.shape)
        remaining = np.delete(window, np.s_[: rows.shape[axis]], axis)
        self._windows[entry, name] = np.concatenate([remaining, rows], axis)
        return self._windows[entry, name]


def load_reference(
    archive: Archive, name: str | None = None, sources: Sequence[str | Path] = ()
) -> ReferenceModule:
    """Build the reference of a model for this host and load it.

    Parameters
    ----------
    archive
        an archive that was compiled with `reference`.
    name
        name of the model in the archive; optional if there is only one.
    sources
        C files of the user with functions of accelerators.

    Raises
    ------
    NoReference
        the archive has no reference build.
    ArchiveError
        the reference build is damaged, or has another interface than the model.
    BuildError
        as in `Archive.load`.
    ValueError
        there is no module of this name, or there are several and no name is given.
    """
    module = archive.module(name)
    reference = reference_archive(archive, module)
    return ReferenceModule(reference.load(sources=sources), module)


def reference_archive(archive: Archive, module: ArchivedModule) -> Archive:
    """Return the reference build of a module as a separate archive.

    Raises
    ------
    NoReference
        the archive has no reference build.
    ArchiveError
        the reference build is damaged, too large, or has another interface than the model.
    """
    described = module.metadata.get("reference", {})
    if not isinstance(described, dict) or not all(isinstance(v, str) for v in described.values()):
        raise ArchiveError(f'module "{shown(module.name)}" has no valid "reference"')
    if "file" not in described:
        reason = described.get("unavailable", "compile the model again, with --reference")
        raise NoReference(f"the archive has no reference build ({printable(reason)})")
    path = described["file"]
    if path not in archive.files:
        raise ArchiveError(f'module "{shown(module.name)}" lacks {shown(path)}')
    try:
        reference = archive_of(files_of_tar(_decompressed(archive.files[path])))
    except (ArchiveError, DamagedMetadata) as error:
        raise ArchiveError(f"{shown(path)}: {printable(str(error))}") from error
    _check_interface(module, reference, path)
    return reference


def _decompressed(compressed: bytes) -> bytes:
    """Decompress a bzip2 file, or raise ArchiveError if it is damaged or exceeds its size limit."""
    largest = largest_reference(len(compressed))
    decompressor = bz2.BZ2Decompressor()
    try:
        content = decompressor.decompress(compressed, largest + 1)
    except OSError as error:
        raise ArchiveError("not compressed by bzip2, or damaged") from error
    if len(content) > largest:
        raise ArchiveError(
            f"it has more than {largest} bytes, the most that a reference of "
            f"{len(compressed)} compressed bytes may have"
        )
    if not decompressor.eof or decompressor.unused_data:
        raise ArchiveError("it is truncated, or something follows it")
    return content


def _check_interface(module: ArchivedModule, reference: Archive, path: str) -> None:
    """Check that a reference has the module's interface, with windows instead of new rows."""
    windows = _windows_of(module)
    entries = {name: _interface(entry, {}) for name, entry in _entries_of(module).items()}
    reference_entries = [
        {n: _interface(entry, windows.get(n, {})) for n, entry in _entries_of(other).items()}
        for other in reference.modules.values()
    ]
    if reference_entries != [entries]:
        raise ArchiveError(
            f"{shown(path)}: it has other entries, inputs, outputs or sizes than "
            f'module "{shown(module.name)}"'
        )


def _windows_of(module: ArchivedModule) -> dict[str, dict[str, Mapping[str, int]]]:
    """Return the windows of each entry, by the name of the input."""
    inputs = module.metadata.get("windows", {}).get("inputs", {})
    if len(module.entries) == 1:
        return dict.fromkeys(module.entries, inputs)
    return {
        entry: {
            name.removeprefix(f"{entry}."): window
            for name, window in inputs.items()
            if name.startswith(f"{entry}.")
        }
        for entry in module.entries
    }


def _entries_of(module: ArchivedModule) -> dict[str, HostEntry]:
    mains = module.metadata["memory"]["functions"]["main"]
    return {name: HostEntry.of(main) for name, main in zip(module.entries, mains, strict=True)}


def _interface(entry: HostEntry, windows: Mapping[str, Mapping[str, int]]) -> object:
    """Return the inputs, outputs and sizes of an entry, with the new rows of each window."""
    inputs = {name: _type(info) for name, info in entry.inputs.items()}
    for name in {*windows} & {*inputs}:
        dtype, shape, symbolic = inputs[name]
        axis = _row_axis(shape)
        if axis < len(shape) and shape[axis] == windows[name]["window_rows"]:
            new = [windows[name]["rows"] if a == axis else n for a, n in enumerate(shape)]
            inputs[name] = dtype, new, symbolic
    outputs = {name: _type(info) for name, info in entry.outputs.items()}
    return list(inputs.items()), list(outputs.items()), list(entry.sizes.items())


def _type(tensor: Mapping[str, Any]) -> tuple[str, list[int], Any]:
    return tensor["dtype"], tensor["shape"], tensor.get("symbolic_shape")


def _row_axis(shape: Sequence[int]) -> int:
    """Return the axis of the rows of a window, which is the outermost axis longer than 1."""
    return next((axis for axis, extent in enumerate(shape) if extent > 1), len(shape))
