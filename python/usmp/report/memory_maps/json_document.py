"""The memory map as JSON for other programs, with a versioned schema.

The schema is `memory_map.schema.json` in this folder; docs/see-the-plan.md explains it.
"""

from __future__ import annotations

import json
from typing import Any

from usmp.report.map_data import (
    Buffer,
    Entry,
    MemoryMap,
    ModelOperator,
    Operator,
    Pool,
)

SCHEMA = "usmp.memory-map"
VERSION = 1
"""Version of the schema, which increases with every incompatible change."""


def map_json(drawn: MemoryMap) -> str:
    """Return the map as JSON text, with names as in the model, and sizes and offsets in bytes."""
    return json.dumps(map_document(drawn), indent=2) + "\n"


def map_document(drawn: MemoryMap) -> dict[str, Any]:
    """Return the content of the JSON as dicts and lists."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "module": drawn.module,
        "algorithm": drawn.algorithm,
        "positions": drawn.positions,
        "ram_bytes": drawn.ram_bytes,
        "io_bytes": drawn.io_bytes,
        "state_bytes": drawn.state_bytes,
        "constants_bytes": drawn.constants_bytes,
        "entries": [_entry(entry) for entry in drawn.entries],
        "model_operators": [_model_operator(operator) for operator in drawn.model_operators],
        "operators": [_operator(operator) for operator in drawn.operators],
        "pools": [_pool(pool) for pool in drawn.pools],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "positions": list(entry.positions),
        "peak_bytes": dict(entry.peak_bytes),
        "io_bytes": entry.io_bytes,
        "state_bytes": entry.state_bytes,
    }


def _model_operator(operator: ModelOperator) -> dict[str, Any]:
    return {
        "entry": operator.entry,
        "index": operator.index,
        "graph": operator.graph,
        "type": operator.type_name,
        "name": operator.name,
        "inputs": list(operator.inputs),
        "outputs": list(operator.outputs),
    }


def _operator(operator: Operator) -> dict[str, Any]:
    return {
        "label": operator.label,
        "entry": operator.entry,
        "functions": list(operator.functions),
        "model_operators": list(operator.model_operators),
        "positions": None if operator.positions is None else list(operator.positions),
        "macs": operator.macs,
        "instructions": operator.instructions,
        "weights_bytes": operator.weights_bytes,
        "live_bytes": dict(operator.live_bytes),
        "measured": None if operator.measured is None else vars(operator.measured),
    }


def _pool(pool: Pool) -> dict[str, Any]:
    return {
        "name": pool.name,
        "kind": pool.kind,
        **({} if pool.address is None else {"address": pool.address}),
        "limit_bytes": pool.limit_bytes,
        **({} if pool.io == "any" else {"io": pool.io}),
        "peak_bytes": pool.peak_bytes,
        "lower_bound_bytes": pool.lower_bound_bytes,
        "memory_pressure_bytes": pool.memory_pressure_bytes,
        "optimal": pool.is_optimal,
        "live_at_peak": list(pool.live_at_peak),
        "peak_operator": pool.peak_operator,
        "buffers": [_buffer(buffer) for buffer in pool.buffers],
    }


def _buffer(buffer: Buffer) -> dict[str, Any]:
    return {
        "name": buffer.name,
        "kind": buffer.kind,
        "function": buffer.function,
        "offset_bytes": buffer.offset_bytes,
        "size_bytes": buffer.size_bytes,
        "alignment_bytes": buffer.alignment_bytes,
        "live_ranges": [list(live) for live in buffer.live_ranges],
        "ring": buffer.is_ring,
        "entries": list(buffer.entries),
        "written_by": list(buffer.written_by),
        "read_by": list(buffer.read_by),
        "overlaps": [
            {
                "name": overlap.name,
                "shared_bytes": overlap.shared_bytes,
                "distance_bytes": overlap.distance_bytes,
            }
            for overlap in buffer.overlaps
        ],
    }
