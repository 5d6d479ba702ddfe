"""Numbers of a plan for the nodes of a model in Model Explorer, as its node data.

A file has one number for each node: https://github.com/google-ai-edge/model-explorer/wiki has the
format. Nodes are found by the name of their first output tensor, and, in ONNX models, whose graph
has these nowhere, by the name of the node, or `<node_3>` for the fourth without one.
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
"""From the least number to the largest."""


def _live(plan: MemoryMap, operator: Operator) -> int | None:
    """Bytes of workspace pools that are live while it runs."""
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
    """Size and offset of the buffers that it uses first, and that outlive it or are outputs."""
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
"""What a file can say: its title, and the number of an operator, None if it is not known."""


def node_data(metadata: Mapping[str, Any], value: str) -> bytes:
    """One of `VALUES` for each node of the model, as JSON.

    Operators of the model that run as one have the same number, which is that of all of them.

    Raises
    ------
    ValueError
        the metadata is damaged, or does not say which operators of the model were planned.
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
            f"{plan.module}: the plan does not say which operators of the model it is about; "
            "plan or compile the model file again"
        )
    document = {"name": title, "results": results, "gradient": _GRADIENT}
    return (json.dumps(document, indent=2) + "\n").encode()


def _keys(node: ModelOperator) -> list[str]:
    """What finds the node; a TFLite file names tensors only, an ONNX file some nodes or all."""
    if node.name:
        return [node.name]
    return [*node.outputs[:1], f"<node_{node.index}>"]
