"""A plan as the report `network_c_info.json` of ST Edge AI Core, for tools that read it.

What ST says of the format (https://stedgeai-dc.st.com/assets/embedded-docs/api_output_c_info.html)
and what the tools of its model zoo read of it is written: the sizes of memories, pools, buffers and
operators. What a plan knows beyond that is under `usmp`. Not written is what is known to ST's
compiler only, such as the memory of its library and the code of its kernels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from usmp.report.map_data import Buffer, MemoryMap, Operator, Pool
from usmp.report.read_map_data import map_of_metadata

SCHEMA_VERSION = "2.0"
"""Of the format; the only one that the model zoo accepts."""
_UNKNOWN = "unknown"


def c_info(metadata: Mapping[str, Any]) -> bytes:
    """The plan in the metadata of one module, as JSON.

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
                    "input_model": {"name": plan.module, "type": _UNKNOWN},
                }
            ],
        },
        "memory_footprint": _footprint(plan),
        "memory_pools": [_pool(number, pool) for number, pool in enumerate(plan.pools)],
        "buffers": [_buffer(n, pool, each) for n, (pool, each) in enumerate(buffers)],
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
    """Bytes of constants and of workspace, and of the inputs and of the outputs; no series, for the
    plan is made for none of ST's.
    """
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
    """Those that are in a pool; others are the application's."""
    return [
        {"buffer_id": numbers[pool.name, buffer.name]}
        for pool in plan.pools
        for buffer in pool.buffers
        if buffer.kind == kind
    ]


def _node(plan: MemoryMap, operator: Operator) -> dict[str, Any]:
    """`macc` is 0 where it is not known: readers add them up."""
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
                    "index": each.index,
                    "type": each.type_name,
                    "graph": each.graph,
                    "outputs": list(each.outputs),
                }
                for each in plan.origin(operator)
            ],
        },
    }
