"""Export a plan as the report `network_c_info.json` of ST Edge AI Core.

The file has the fields that ST documents
(https://stedgeai-dc.st.com/assets/embedded-docs/api_output_c_info.html) and that the tools of its
model zoo read: sizes of memories, pools, buffers and operators. Further facts of a plan are under
`usmp`. Facts that only ST's compiler knows, such as the memory of its library, are omitted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from usmp.report.map_data import Buffer, MemoryMap, Operator, Pool
from usmp.report.read_map_data import map_of_metadata

SCHEMA_VERSION = "2.0"
"""Version of the format, the only one that the model zoo accepts."""
_UNKNOWN = "unknown"


def c_info(metadata: Mapping[str, Any]) -> bytes:
    """Return the plan in the metadata of one module, as JSON.

    Raises
    ------
    ValueError
        the metadata is damaged.
    """
    plan = map_of_metadata(metadata)
    buffers = [(pool, buffer) for pool in plan.pools for buffer in pool.buffers]
    numbers = {(pool.name, buffer.name): n for n, (pool, buffer) in enumerate(buffers)}
    document = {
        "json_schema_version": SCHEMA_VERSION,
        "environment": {
            "generated_model": {"name": plan.module},
            "tools": [
                {
                    "name": "usmp",
                    "version": _UNKNOWN,
                    "input_model": {"name": plan.title, "type": _UNKNOWN},
                }
            ],
        },
        "memory_footprint": _footprint(plan),
        "memory_pools": [_pool(number, pool) for number, pool in enumerate(plan.pools)],
        "buffers": [_buffer(n, pool, buffer) for n, (pool, buffer) in enumerate(buffers)],
        "graphs": [
            {
                "name": plan.module,
                "inputs": _tensors(plan, "input", numbers),
                "outputs": _tensors(plan, "output", numbers),
                "nodes": [_node(plan, operator) for operator in plan.operators],
            }
        ],
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _footprint(plan: MemoryMap) -> dict[str, Any]:
    """Return the bytes of constants, workspace, inputs and outputs, for an unknown MCU series."""
    return {
        "series": _UNKNOWN,
        "weights": sum(pool.peak_bytes for pool in plan.pools if pool.is_constant),
        "activations": sum(pool.peak_bytes for pool in plan.pools if not pool.is_constant),
        "io": [
            sum(size for entry in plan.entries for size in entry.inputs.values()),
            sum(size for entry in plan.entries for size in entry.outputs.values()),
        ],
    }


def _pool(number: int, pool: Pool) -> dict[str, Any]:
    return {
        "id": number,
        "name": pool.name,
        "rights": "ACC_READ" if pool.is_constant else "ACC_WRITE",
        "size_bytes": pool.peak_bytes if pool.limit_bytes is None else pool.limit_bytes,
        "used_size_bytes": pool.peak_bytes,
    }


def _buffer(number: int, pool: Pool, buffer: Buffer) -> dict[str, Any]:
    return {
        "id": number,
        "name": buffer.name,
        "size_bytes": buffer.size_bytes,
        "usmp": {
            "memory_pool": pool.name,
            "kind": buffer.kind,
            "offset_bytes": buffer.offset_bytes,
            "live_ranges": [list(live) for live in buffer.live_ranges],
            "shared_bytes": {other.name: other.shared_bytes for other in buffer.overlaps},
        },
    }


def _tensors(
    plan: MemoryMap, kind: str, numbers: Mapping[tuple[str, str], int]
) -> list[dict[str, int]]:
    """Return the inputs or outputs in pools; the application owns all other tensors."""
    return [
        {"buffer_id": numbers[pool.name, buffer.name]}
        for pool in plan.pools
        for buffer in pool.buffers
        if buffer.kind == kind
    ]


def _node(plan: MemoryMap, operator: Operator) -> dict[str, Any]:
    """Return the node of an operator. An unknown `macc` is 0, because readers sum the values."""
    return {
        "id": operator.number,
        "name": operator.function_names,
        "macc": operator.macs or 0,
        "usmp": {
            "entry": operator.entry,
            "positions": None if operator.positions is None else list(operator.positions),
            "live_bytes": dict(operator.live_bytes),
            "model_operators": [
                {
                    "index": origin.index,
                    "type": origin.type_name,
                    "graph": origin.graph,
                    "outputs": list(origin.outputs),
                }
                for origin in plan.origin(operator)
            ],
        },
    }
