"""One module of an archive, as its metadata describes it, checked and typed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from usmp.objects import BufferInfoKind, LiveRange, MemoryPlan, PlacedBuffer, PoolBound, TensorInfo
from usmp.runtime.read_metadata import DamagedMetadata
from usmp.support.plain_text import shown

_DTYPES = (
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
)
"""Element types of inputs and outputs, as numpy writes them."""

_MOST_AXES = 32
"""Of arrays in every version of NumPy."""
_LARGEST_BYTES = 2**32

_KINDS = {kind.name.lower(): kind for kind in BufferInfoKind} | {
    "constant": BufferInfoKind.INTERMEDIATE
}


@dataclass(frozen=True)
class ArchivedTensor:
    """A model input or output.

    Parameters
    ----------
    info
        name, shape, element type, scale and zero point.
    c_name
        the member of the C struct, and in capitals a part of the macros.
    pool_name, byte_offset
        its pool and offset, if it is in the workspace (use case U4).
    """

    info: TensorInfo
    c_name: str
    pool_name: str | None
    byte_offset: int | None


@dataclass(frozen=True)
class ArchivedPool:
    """A memory pool, and the buffers in it; all sizes are bytes.

    Parameters
    ----------
    name, c_name
        as the user called it, and as the C code does.
    is_constant
        whether it holds constants, or else the workspace.
    is_internal
        whether it is an array of the generated code; the application passes others.
    size_hint_bytes
        the most that the plan might use; -1 for no limit.
    size_bytes
        what the application has to provide.
    alignment_bytes
        of which the address must be a multiple.
    peak_bytes
        highest end address used.
    memory_pressure_bytes
        most bytes live at once; with overlap the peak may be smaller.
    bound
        what is proved of `peak_bytes`.
    live_at_peak
        names of the buffers live then; empty for constants.
    buffers
        those that it holds.
    """

    name: str
    c_name: str
    is_constant: bool
    is_internal: bool
    size_hint_bytes: int
    size_bytes: int
    alignment_bytes: int
    peak_bytes: int
    memory_pressure_bytes: int
    bound: PoolBound
    live_at_peak: list[str]
    buffers: list[PlacedBuffer]


@dataclass(frozen=True)
class ArchivedModule:
    """A compiled model of an archive.

    Parameters
    ----------
    name
        its name in the archive.
    c_prefix
        of its C symbols, such as "tvmgen_default".
    inputs, outputs
        by name, in the order of the model.
    pools
        in the order of the plan.
    algorithm
        which algorithm made the plan.
    memory_pressure_bytes
        most workspace bytes live at once, over all pools.
    search_ended_by
        as `MemoryPlan` has it.
    metadata
        all that metadata.json says of it; `print_memory_summary` takes this.
    """

    name: str
    c_prefix: str
    inputs: dict[str, ArchivedTensor]
    outputs: dict[str, ArchivedTensor]
    pools: list[ArchivedPool]
    algorithm: str
    memory_pressure_bytes: int
    search_ended_by: str | None
    metadata: Mapping[str, Any] = field(repr=False)

    @property
    def memory_plan(self) -> MemoryPlan:
        """Where every buffer is, pool by pool."""
        buffers = [buffer for pool in self.pools for buffer in pool.buffers]
        return MemoryPlan(
            self.algorithm,
            self.memory_pressure_bytes,
            buffers,
            pool_bounds={pool.name: pool.bound for pool in self.pools},
            search_ended_by=self.search_ended_by,
        )


def read_module(name: str, metadata: Any) -> ArchivedModule:
    """Read what metadata.json says of one module.

    Raises
    ------
    DamagedMetadata
        something is missing, of the wrong type, or contradicts something else.
    """
    where = f'module "{shown(name)}"'
    try:
        memory = metadata["memory"]
        main = memory["functions"]["main"][0]
        inputs, outputs = main["inputs"].items(), main["outputs"].items()
        pools = list(memory["pools"])
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise DamagedMetadata(f"{where} lacks its inputs, outputs or pools") from error
    _read(metadata, "model_name", _is_text, where)
    floats = _read(metadata, "float_operators", lambda value: isinstance(value, dict), where)
    if not all(_is_count(count) for count in floats.values()):
        raise DamagedMetadata(f'{where} has no valid "float_operators"')
    _read(metadata, "interface_api", lambda value: value in ("c", "packed"), where)
    for size in ("io_size_bytes", "state_size_bytes", "constants_size_bytes"):
        _read(main, size, _is_count, where)
    _check_accelerators(metadata, where)
    _check_placement(memory, where)
    _check_ram(memory, where)
    return ArchivedModule(
        name,
        _read(metadata, "c_prefix", _is_prefix, where),
        {tensor: _tensor(tensor, info, where) for tensor, info in inputs},
        {tensor: _tensor(tensor, info, where) for tensor, info in outputs},
        [_pool(pool, where) for pool in pools],
        _read(memory, "algorithm", _is_text, where),
        _read(memory, "memory_pressure_bytes", _is_count, where),
        _read(memory, "search_ended_by", _is_text, where) if "search_ended_by" in memory else None,
        metadata,
    )


def _read(entry: Any, key: str, is_valid: Callable[[Any], bool], where: str) -> Any:
    if not isinstance(entry, dict) or not is_valid(entry.get(key)):
        raise DamagedMetadata(f'{where} has no valid "{key}"')
    return entry[key]


def _check_placement(memory: Mapping[str, Any], where: str) -> None:
    """Check that what the metadata says of the choice of pools, and of cycles, can be shown."""
    if "placement" not in memory:
        return
    placement, cycles = memory["placement"], "estimated_access_cycles"
    _read(placement, "policy", _is_text, f"the placement of {where}")
    if cycles in placement:
        by_preference = f"{cycles}_by_preference"
        if placement.get(by_preference, "missing") is not None:
            _read(placement, by_preference, _is_count, where)
        for key in (cycles, f"{cycles}_by_cost", f"{cycles}_lower_bound"):
            _read(placement, key, _is_count, where)


def _check_ram(memory: Mapping[str, Any], where: str) -> None:
    """Check that the sums of the RAM are numbers; earlier archives lack them."""
    if "ram" not in memory:
        return
    ram = memory["ram"]
    for size in ("size_bytes", "workspace_size_bytes", "state_size_bytes", "io_size_bytes"):
        _read(ram, size, _is_count, f"the RAM of {where}")
    if "size_bytes_with_workspace_io" in ram:
        _read(ram, "size_bytes_with_workspace_io", _is_count, f"the RAM of {where}")


def _check_accelerators(metadata: Mapping[str, Any], where: str) -> None:
    """Check that there are no functions of accelerators, or all have what a caller needs."""
    if "devices" not in metadata and "accelerator_functions" not in metadata:
        return
    devices, functions = metadata.get("devices"), metadata.get("accelerator_functions")
    is_complete = (
        _is_list_of(_is_identifier)(devices)
        and _is_list_of(lambda function: isinstance(function, dict))(functions)
        and all(_is_identifier(function.get("symbol")) for function in functions or ())
    )
    if not (is_complete and devices and functions):
        raise DamagedMetadata(f"{where} has functions of accelerators without symbol or device")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_size(value: Any) -> bool:
    """Whether it is a number of bytes that a host can provide."""
    return _is_count(value) and value <= _LARGEST_BYTES


def _is_shape(value: Any) -> bool:
    return _is_list_of(_is_count)(value) and len(value) <= _MOST_AXES


def _is_identifier(value: Any) -> bool:
    return _is_text(value) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is not None


def _is_prefix(value: Any) -> bool:
    return _is_identifier(value) and value.startswith("tvmgen_")


def _is_list_of(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_valid, value))


def _tensor(name: str, entry: Any, where: str) -> ArchivedTensor:
    where = f'tensor "{shown(name)}" of {where}'
    shape = _read(entry, "shape", _is_shape, where)
    dtype = _read(entry, "dtype", lambda value: value in _DTYPES, where)
    scale, zero_point = _quantization(entry, where)
    info = TensorInfo(name, shape, dtype, scale, zero_point)
    size = _read(entry, "size", _is_size, where)
    if size != info.size_bytes:
        raise DamagedMetadata(f"{where} has {size} bytes, which is not {dtype}{shape}")
    pool, offset = None, None
    if "pool" in entry:
        pool = _read(entry, "pool", _is_text, where)
        offset = _read(entry, "offset", _is_count, where)
    return ArchivedTensor(info, _read(entry, "c_name", _is_identifier, where), pool, offset)


def _quantization(entry: Mapping[str, Any], where: str) -> tuple[float | None, int | None]:
    if "quantization" not in entry:
        return None, None
    quantization = entry["quantization"]
    scale = _read(quantization, "scale", lambda s: isinstance(s, float) and math.isfinite(s), where)
    zero_point = _read(
        quantization, "zero_point", lambda z: isinstance(z, int) and -(2**63) <= z < 2**63, where
    )
    return scale, zero_point


def _pool(entry: Any, where: str) -> ArchivedPool:
    name = _read(entry, "name", _is_text, f"a pool of {where}")
    where = f'pool "{shown(name)}" of {where}'
    kind = _read(entry, "kind", lambda value: value in ("workspace", "constant"), where)
    buffers = [
        _buffer(buffer, name, where)
        for buffer in _read(entry, "buffers", lambda value: isinstance(value, list), where)
    ]
    live = _read(entry, "live_at_peak", _is_list_of(_is_text), where)
    names = {str(buffer.name) for buffer in buffers}
    if not names.issuperset(live):
        raise DamagedMetadata(f'{where} has no valid "live_at_peak"')
    for buffer in buffers:
        if not names.issuperset(map(str, buffer.overlaps)):
            raise DamagedMetadata(
                f'buffer "{shown(buffer.name)}" of {where} has no valid "overlaps"'
            )
    size = _read(entry, "size_bytes", _is_size, where)
    for buffer in buffers:
        if buffer.byte_offset + buffer.size_bytes > size:
            raise DamagedMetadata(
                f'{where} of {size} bytes does not hold buffer "{shown(buffer.name)}"'
            )
    return ArchivedPool(
        name,
        _read(entry, "c_name", _is_identifier, where),
        kind == "constant",
        _read(entry, "internal", _is_truth, where),
        _read(entry, "size_hint_bytes", lambda value: value == -1 or _is_count(value), where),
        size,
        _read(entry, "alignment_bytes", lambda value: _is_size(value) and value > 0, where),
        _read(entry, "peak_bytes", _is_count, where),
        _read(entry, "memory_pressure_bytes", _is_count, where),
        PoolBound(
            _read(entry, "lower_bound_bytes", _is_count, where),
            _read(entry, "optimal", _is_truth, where),
        ),
        live,
        buffers,
    )


def _buffer(entry: Any, pool: str, where: str) -> PlacedBuffer:
    name = _read(entry, "name", _is_text, f"a buffer of {where}")
    where = f'buffer "{shown(name)}" of {where}'
    ranges = _read(entry, "live_ranges", _is_list_of(_is_range), where)
    overlaps = _read(entry, "overlaps", lambda value: isinstance(value, dict), where)
    for overlap in overlaps.values():
        _read(overlap, "shared", _is_count, f"an overlap of {where}")
    return PlacedBuffer(
        name,
        _read(entry, "function", _is_text, where),
        int(_KINDS[_read(entry, "kind", lambda value: value in list(_KINDS), where)]),
        pool,
        _read(entry, "offset", _is_count, where),
        _read(entry, "size", _is_count, where),
        _read(entry, "alignment", _is_count, where),
        [LiveRange(start, stop) for start, stop in ranges],
        _read(entry, "identical", _is_list_of(_is_text), where),
        {
            other: _read(overlap, "distance", _is_count, f"an overlap of {where}")
            for other, overlap in overlaps.items()
        },
    )


def _is_range(value: Any) -> bool:
    return _is_list_of(_is_count)(value) and len(value) == 2 and value[0] < value[1]
