"""Metadata of compiled modules, written by hand, of any number of buffers.

They have what `usmp.report` reads of the metadata of an archive, and the plans are valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

DIGITS_POSITIONS = ((0, 188), (188, 303), (303, 412), (412, 426), (426, 460), (460, 478))
"""Of the operators of examples/digits, as its buffers are live."""

DIGITS_TYPES = (
    ("CONV_2D", "CONV_2D"),
    ("DEPTHWISE_CONV_2D", "CONV_2D", "ADD"),
    ("CONV_2D", "MAX_POOL_2D"),
    ("MEAN",),
    ("FULLY_CONNECTED",),
    ("SOFTMAX",),
)


def digits_with_operators(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata of examples/digits, with what its operators read and write."""
    metadata = deepcopy(metadata)
    constants, workspace = (pool["buffers"] for pool in metadata["memory"]["pools"])
    model_operators: list[dict[str, Any]] = []
    for position, operator in enumerate(metadata["operators"]):
        start, stop = DIGITS_POSITIONS[position]
        (function,) = operator["functions"]
        names = function.split("_to_")
        read = [b for b in constants if b["name"].rpartition("_constant")[0] in names]
        live = [b for b in workspace if _meets(b, start, stop)]
        written = [b for b in live if start <= b["live_ranges"][0][0] < stop]
        operator["start"], operator["stop"] = start, stop
        operator["live_bytes"] = {"global_workspace": sum(b["size"] for b in live)}
        operator["weights_size_bytes"] = sum(b["size"] for b in read)
        operator["buffers"] = {
            "read": [b["name"] for b in (*live, *read) if b not in written],
            "written": [b["name"] for b in written],
        }
        operator["model_operators"] = []
        for type_name in DIGITS_TYPES[position]:
            operator["model_operators"].append(len(model_operators))
            model_operators.append(_model_operator(len(model_operators), type_name))
    metadata["model_operators"] = model_operators
    metadata["memory"]["pools"][1]["peak_operator"] = 2
    return metadata


def synthetic_metadata(buffers: int, seed: int = 0, name: str = "synthetic") -> dict[str, Any]:
    """A network of that many buffers: half of them constants, half of them between operators.

    Each operator reads what the one before it wrote, some read an older tensor too, and some write
    over what they read.
    """
    random = Random(seed)
    count = buffers // 2
    steps = [random.randint(8, 40) for _ in range(count)]
    starts = [sum(steps[:i]) for i in range(count + 1)]
    kept = [min(count, i + 2 + (random.randint(3, 12) if i % 7 == 0 else 0)) for i in range(count)]
    sizes = [16 * random.randint(1, 256) for _ in range(count)]
    live = [[starts[i], starts[max(i + 1, kept[i])]] for i in range(count)]
    workspace = [
        _buffer(f"tensor_{i}", "scratch" if i % 11 == 5 else "intermediate", size, live[i])
        for i, size in enumerate(sizes)
    ]
    _place(workspace, may_overlap=True)
    constants = [
        _buffer(f"weights_{i}", "constant", 16 * random.randint(1, 64), [0, starts[-1]])
        for i in range(buffers - count)
    ]
    _place(constants)
    operators = [
        {
            "entry": "main",
            "functions": [f"operator_{i}"],
            "steps": [{"kind": "conv2d", "macs": 1000 * i}],
            "inputs": [],
            "outputs": [],
            "macs": 1000 * i,
            "model_operators": [i],
            "start": starts[i],
            "stop": starts[i + 1],
            "live_bytes": {
                "sram": sum(b["size"] for b in workspace if _meets(b, starts[i], starts[i + 1]))
            },
            "weights_size_bytes": constants[i]["size"],
            "buffers": {
                "read": [*([f"tensor_{i - 1}"] if i else []), f"weights_{i}"],
                "written": [f"tensor_{i}"],
            },
        }
        for i in range(count)
    ]
    types = ("CONV_2D", "DEPTHWISE_CONV_2D", "ADD", "FULLY_CONNECTED")
    pools = [_pool("flash", "constant", constants, -1), _pool("sram", "workspace", workspace, -1)]
    peak = pools[1]["peak_bytes"]
    # A bound below the peak, and a limit above it, so that all three lines are there.
    pools[1] |= {
        "size_hint_bytes": peak + peak // 8,
        "lower_bound_bytes": peak - peak // 16,
        "optimal": False,
    }
    return {
        "model_name": name,
        "target": ["c"],
        "operators": operators,
        "model_operators": [_model_operator(i, types[i % len(types)]) for i in range(count)],
        "memory": {
            "algorithm": "auto",
            "memory_pressure_bytes": pools[1]["memory_pressure_bytes"],
            "ram": {
                "size_bytes": peak + 64,
                "workspace_size_bytes": peak,
                "io_size_bytes": 64,
                "state_size_bytes": 0,
            },
            "functions": {"main": [_main(pools)], "operator_functions": []},
            "pools": pools,
        },
    }


def _main(pools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    constant, workspace = pools
    return {
        "entry": "main",
        "workspace_size_bytes": workspace["peak_bytes"],
        "workspace_pools": {workspace["name"]: workspace["peak_bytes"]},
        "constants_size_bytes": constant["peak_bytes"],
        "constant_pools": {constant["name"]: constant["peak_bytes"]},
        "io_size_bytes": 64,
        "state_size_bytes": 0,
        "inputs": {},
        "outputs": {},
    }


def _model_operator(index: int, type_name: str) -> dict[str, Any]:
    return {
        "entry": "main",
        "index": index,
        "type": type_name,
        "inputs": [f"tensor:{index}"],
        "outputs": [{"name": f"tensor:{index + 1}", "dtype": "int8", "shape": [1, 4]}],
    }


def _pool(
    name: str, kind: str, buffers: Sequence[dict[str, Any]], size_hint_bytes: int
) -> dict[str, Any]:
    peak = max(b["offset"] + b["size"] for b in buffers)
    starts = {b["live_ranges"][0][0] for b in buffers}
    at_peak = max(starts, key=lambda at: sum(b["size"] for b in buffers if _meets(b, at, at + 1)))
    live = [b for b in buffers if _meets(b, at_peak, at_peak + 1)]
    return {
        "name": name,
        "c_name": name,
        "kind": kind,
        "internal": True,
        "size_hint_bytes": size_hint_bytes,
        "size_bytes": peak,
        "alignment_bytes": 16,
        "peak_bytes": peak,
        "memory_pressure_bytes": sum(b["size"] for b in live),
        "lower_bound_bytes": peak,
        "optimal": True,
        "live_at_peak": [] if kind == "constant" else [b["name"] for b in live],
        "buffers": list(buffers),
    }


def _buffer(name: str, kind: str, size: int, live: list[int]) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "function": "__tvm_main__",
        "offset": 0,
        "size": size,
        "alignment": 16,
        "live_ranges": [live],
        "identical": [],
        "overlaps": {},
    }


def _place(buffers: Sequence[dict[str, Any]], may_overlap: bool = False) -> None:
    """Give each the lowest offset at which it meets nothing that is live with it, but for the upper
    half of it, which may be in the buffer before it, its input.
    """
    placed: list[dict[str, Any]] = []
    for buffer in buffers:
        size, (start, _) = buffer["size"], buffer["live_ranges"][0]
        read = placed[-1] if placed and may_overlap else None
        placed = [b for b in placed if b["live_ranges"][0][1] > start]
        spared = size // 32 * 16
        offset = 0
        for other in sorted(placed, key=_offset):
            if other["offset"] + (spared if other is read else 0) >= offset + size:
                break
            offset = max(offset, other["offset"] + other["size"])
        buffer["offset"] = offset
        if read in placed and read["offset"] < offset + size <= read["offset"] + spared:
            shared = min(offset + size - read["offset"], read["size"])
            buffer["overlaps"] = {read["name"]: {"shared": shared, "distance": size - spared}}
        placed.append(buffer)


def _offset(buffer: dict[str, Any]) -> int:
    return int(buffer["offset"])


def _meets(buffer: dict[str, Any], start: int, stop: int) -> bool:
    begin, end = buffer["live_ranges"][0]
    return bool(begin < stop and start < end)
