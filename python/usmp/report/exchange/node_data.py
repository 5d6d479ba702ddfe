"""Export numbers of a plan as node data of Model Explorer.

A file has one number for each node (format: https://github.com/google-ai-edge/model-explorer/wiki).
Nodes of TFLite models are found by their first output tensor. Nodes of ONNX models are found by
their name, or by `<node_3>` for an unnamed fourth node.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from usmp.report.map_data import MemoryMap, ModelOperator, Operator
from usmp.report.read_map_data import map_of_metadata

_GRADIENT = [
    {"stop": 0, "bgColor": "#ffffcc", "textColor": "#000000"},
    {"stop": 1, "bgColor": "#800026", "textColor": "#ffffff"},
]
"""Colors from the smallest number to the largest."""


def _live(plan: MemoryMap, operator: Operator) -> int | None:
    """Return the bytes in workspace pools that are live while an operator runs, if known."""
    sizes = [
        operator.live_bytes[pool.name]
        for pool in plan.pools
        if not pool.is_constant and pool.name in operator.live_bytes
    ]
    return sum(sizes) if sizes else None


def _output_bytes(plan: MemoryMap, operator: Operator) -> int | None:
    written = list(_written(plan, operator))
    return sum(size for size, _ in written) if written else None


def _output_offset(plan: MemoryMap, operator: Operator) -> int | None:
    return min((offset for _, offset in _written(plan, operator)), default=None)


def _written(plan: MemoryMap, operator: Operator) -> Iterator[tuple[int, int]]:
    """Yield size and offset of the workspace buffers that an operator writes for later operators,
    or as outputs of the model."""
    if operator.positions is None:
        return
    start, stop = operator.positions
    for pool in plan.pools:
        for buffer in pool.buffers if not pool.is_constant else ():
            if buffer.name in operator.buffers and any(
                start <= first < stop and (stop < last or buffer.kind == "output")
                for first, last in buffer.live_ranges
            ):
                yield buffer.size_bytes, buffer.offset_bytes


VALUES: dict[str, tuple[str, Callable[[MemoryMap, Operator], int | None]]] = {
    "live_bytes": ("live bytes", _live),
    "output_bytes": ("bytes of outputs", _output_bytes),
    "output_offset": ("offset of the output", _output_offset),
    "macs": ("multiply-accumulates", lambda plan, operator: operator.macs),
    "instructions": ("instructions, estimated", lambda plan, operator: operator.instructions),
}
"""Kinds of numbers: the title, and a function that returns the number of an operator if known."""


def node_data(metadata: Mapping[str, Any], value: str) -> bytes:
    """Return one of `VALUES` for each node of the model, as JSON.

    Fused operators of the model share a number, which is that of the whole fused operator.

    Raises
    ------
    ValueError
        the metadata is damaged, or lacks the operators of the model.
    """
    plan = map_of_metadata(metadata)
    title, number_of = VALUES[value]
    results: dict[str, dict[str, int]] = {}
    for operator in plan.operators:
        number = number_of(plan, operator)
        if number is None:
            continue
        for key in (key for node in plan.origin(operator) for key in _keys(node)):
            known = results.get(key, {"value": 0})["value"]
            results[key] = {"value": max(known, number)}
    if not any(operator.model_operators for operator in plan.operators):
        raise ValueError(
            f"{plan.title}: the plan does not say which operators of the model it is about; "
            "plan or compile the model file again"
        )
    document = {"name": title, "results": results, "gradient": _GRADIENT}
    return (json.dumps(document, indent=2) + "\n").encode()


def _keys(node: ModelOperator) -> list[str]:
    """Return the keys of a node: its name in an ONNX model, else its output and its index."""
    if node.name:
        return [node.name]
    return [*node.outputs[:1], f"<node_{node.index}>"]
