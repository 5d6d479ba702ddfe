"""Read the entries of an archived module from its metadata, with checks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from usmp.plain.c_interface import callback_member, context_member
from usmp.plain.entry_names import ONLY_ENTRY, c_prefix_of_entry
from usmp.plain.entry_size import EntrySize
from usmp.plain.size_expression import SizeExpression
from usmp.plain.tensor import Tensor
from usmp.runtime.archived.read_metadata import (
    DamagedMetadata,
    is_count,
    is_identifier,
    is_list_of,
    is_missing,
    is_range,
    is_size,
    is_text,
    is_truth,
    read_value,
)
from usmp.runtime.archived.sizes import is_unbounded, read_extents, read_sizes
from usmp.support.text.plain_text import shown

_DTYPES = (
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
)
"""Element types of inputs and outputs, as NumPy writes them."""

_MOST_AXES = 32
"""Most axes of an array that every version of NumPy supports."""
_LONGEST_ENTRY_NAME = 64


@dataclass(frozen=True)
class ArchivedTensor:
    """A model input or output.

    Parameters
    ----------
    info
        name, shape, element type, scale and zero point. A symbolic shape is at its upper bounds.
    c_name
        name of the member of the C struct, and in capitals a part of the macros.
    pool_name, byte_offset
        pool and offset, if the tensor is in the workspace (use case U4 of TVM's RFC 0009).
    is_by_rows
        whether the application streams it row by row.
    symbolic_shape
        extents as expressions of sizes (`usmp.plain.size_expression`); empty if none is symbolic.
    is_unbounded
        whether it depends on a size without an upper bound, so that its bytes have no bound.
    is_updated
        whether it is an input that a run updates in place.
    is_written
        whether it is another input that a run may write.
    """

    info: Tensor
    c_name: str
    pool_name: str | None
    byte_offset: int | None
    is_by_rows: bool = False
    symbolic_shape: Sequence[SizeExpression] = ()
    is_unbounded: bool = False
    is_updated: bool = False
    is_written: bool = False

    def members(self, what: str) -> list[str]:
        """Return its members in the C struct of "inputs" or "outputs"."""
        if not self.is_by_rows:
            return [self.c_name]
        return [callback_member(what, self.c_name), context_member(self.c_name)]


@dataclass(frozen=True)
class ArchivedEntry:
    """A function of a model that an application calls.

    Parameters
    ----------
    name
        name of the entry; "main" if the archive names none.
    c_prefix
        prefix of its C symbols, such as "tvmgen_default" or "tvmgen_default_step".
    inputs, outputs
        tensors by name, in the order of the model.
    sizes
        symbolic sizes by name, in the order of the C struct of inputs.
    takes_arena
        whether runs allocate in an arena.
    """

    name: str
    c_prefix: str
    inputs: dict[str, ArchivedTensor]
    outputs: dict[str, ArchivedTensor]
    sizes: Mapping[str, EntrySize] = field(default_factory=dict)
    takes_arena: bool = False

    @property
    def results(self) -> dict[str, ArchivedTensor]:
        """The results of a run by name: the outputs, then the updated inputs."""
        updated = {name: t for name, t in self.inputs.items() if t.is_updated}
        return {**self.outputs, **updated}


def read_entries(mains: Sequence[Any], prefix: str, where: str) -> dict[str, ArchivedEntry]:
    """Read the entries of a module in metadata.json.

    Parameters
    ----------
    mains
        value of "main".
    prefix
        prefix of the C symbols of the module.
    where
        name of the module in errors.

    Raises
    ------
    DamagedMetadata
        a value is missing, has the wrong type, or contradicts another value.
    """
    try:
        tensors = [(main["inputs"].items(), main["outputs"].items()) for main in mains]
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedMetadata(f"{where} lacks its inputs, outputs or pools") from error
    if not mains:
        raise DamagedMetadata(f"{where} lacks its inputs, outputs or pools")
    names = _entry_names(mains, where)
    sizes = [read_sizes(main, where) for main in mains]
    entries = {
        name: ArchivedEntry(
            name,
            c_prefix_of_entry(prefix, name, names),
            {tensor: _tensor(tensor, info, entry_sizes, where) for tensor, info in inputs},
            {tensor: _tensor(tensor, info, entry_sizes, where) for tensor, info in outputs},
            entry_sizes,
            bool(main.get("takes_arena")),
        )
        for name, main, (inputs, outputs), entry_sizes in zip(
            names, mains, tensors, sizes, strict=True
        )
    }
    for entry in entries.values():
        _check_updated(entry, where)
    return entries


def _check_updated(entry: ArchivedEntry, where: str) -> None:
    """Raise DamagedMetadata if an updated tensor is an output, or is streamed by rows."""
    for name, tensor in entry.inputs.items():
        if tensor.is_updated and (name in entry.outputs or tensor.is_by_rows):
            reason = "given by rows" if tensor.is_by_rows else "an output, too"
            raise DamagedMetadata(
                f'input "{shown(name)}" of {where} is updated by a run, and cannot be {reason}'
            )
    for name, tensor in entry.outputs.items():
        if tensor.is_updated:
            raise DamagedMetadata(f'output "{shown(name)}" of {where} has an invalid "updated"')


def _entry_names(mains: Sequence[Any], where: str) -> list[str]:
    """Return the names of the entries. A single entry of an earlier archive is called "main".

    Raises
    ------
    DamagedMetadata
        a name is no C identifier or is repeated, or a value that commands show is missing.
    """
    names: list[str] = []
    for main in mains:
        is_earlier = len(mains) == 1 and "entry" not in main
        names.append(ONLY_ENTRY if is_earlier else read_value(main, "entry", _is_entry_name, where))
        for size in ("io_size_bytes", "state_size_bytes", "constants_size_bytes"):
            read_value(main, size, is_count, where)
        if "takes_arena" in main:
            read_value(main, "takes_arena", is_truth, where)
    if len(set(names)) < len(names):
        [(twice, _)] = Counter(names).most_common(1)
        raise DamagedMetadata(f'{where} has the entry "{twice}" twice')
    if len(mains) > 1:
        known = frozenset(names)
        for name, main in zip(names, mains, strict=True):
            _check_among_entries(main, known, f'entry "{name}" of {where}')
    return names


def check_peaks(main: Any, where: str) -> None:
    """Check the peaks of one of several entries.

    Raises
    ------
    DamagedMetadata
        the entry has no numbers of bytes by pool.
    """
    peaks = read_value(main, "peak_bytes", lambda value: isinstance(value, dict), where)
    for pool in peaks:
        read_value(peaks, pool, is_count, f'"peak_bytes" of {where}')


def _check_among_entries(main: Any, names: Collection[str], where: str) -> None:
    """Check the values of an entry that commands show if there are several entries."""
    read_value(main, "positions", is_range, where)
    check_peaks(main, where)
    states = read_value(main, "states", lambda value: isinstance(value, dict), where)
    for state, described in states.items():
        read_value(described, "size", is_count, f'state "{shown(state)}" of {where}')
        read_value(described, "changed", is_truth, f'state "{shown(state)}" of {where}')
    read_value(
        main, "concurrent_with", is_list_of(lambda name: is_text(name) and name in names), where
    )


def _is_shape(value: Any) -> bool:
    return is_list_of(is_count)(value) and len(value) <= _MOST_AXES


def _is_entry_name(value: Any) -> bool:
    return is_identifier(value) and len(value) <= _LONGEST_ENTRY_NAME


def _tensor(name: str, entry: Any, sizes: Mapping[str, EntrySize], where: str) -> ArchivedTensor:
    where = f'tensor "{shown(name)}" of {where}'
    shape = read_value(entry, "shape", _is_shape, where)
    dtype = read_value(entry, "dtype", lambda value: value in _DTYPES, where)
    scale, zero_point = _quantization(entry, where)
    is_updated, is_written = (
        key in entry and read_value(entry, key, is_truth, where) for key in ("updated", "written")
    )
    info = Tensor(name, shape, dtype, scale, zero_point)
    extents = read_extents(entry, shape, sizes, where)
    has_no_bound = is_unbounded(extents, sizes)
    is_valid = is_missing if has_no_bound else is_size
    size = read_value(entry, "size", is_valid, where)
    if not has_no_bound and size != info.size_bytes:
        raise DamagedMetadata(f"{where} has {size} bytes, which is not {dtype}{shape}")
    pool, offset = None, None
    if "pool" in entry:
        pool = read_value(entry, "pool", is_text, where)
        offset = read_value(entry, "offset", is_count, where)
    by_rows = {"rows": info.rows, "row_size": info.row_size_bytes}
    if "by_rows" in entry:
        # Check the bytes of a row, because the callbacks of the host copy them.
        read_value(entry, "by_rows", lambda value: value == by_rows, where)
    c_name = read_value(entry, "c_name", is_identifier, where)
    is_by_rows = "by_rows" in entry
    return ArchivedTensor(
        info, c_name, pool, offset, is_by_rows, extents, has_no_bound, is_updated, is_written
    )


def _quantization(entry: Mapping[str, Any], where: str) -> tuple[float | None, int | None]:
    if "quantization" not in entry:
        return None, None
    quantization = entry["quantization"]
    scale = read_value(
        quantization, "scale", lambda s: isinstance(s, float) and math.isfinite(s), where
    )
    zero_point = read_value(
        quantization, "zero_point", lambda z: isinstance(z, int) and -(2**63) <= z < 2**63, where
    )
    return scale, zero_point
