"""The data for the scripts of the page, as JSON that is safe inside a script element."""

from __future__ import annotations

from typing import Any

from usmp.report.map_data import Buffer, Measured, MemoryMap, Operator, Pool
from usmp.report.memory_maps.themes import THEMES
from usmp.report.memory_maps.vega_layout import page_spec
from usmp.report.memory_maps.vega_panel import panel_group, panel_of, panel_signals
from usmp.report.offline_pages.offline_page import script_json
from usmp.support.model_operators import name
from usmp.support.text.plain_text import shown

_MAP_HEIGHT = {"workspace": 330, "constant": 220}
_PADDING = {"left": 68, "right": 14, "top": 4, "bottom": 0}


def page_json(drawn: MemoryMap) -> str:
    """Return the pools with their drawings, the buffers and the operators, as JSON."""
    data = {
        "pools": [_pool(drawn, pool) for pool in drawn.pools],
        "operators": [_operator(drawn, operator) for operator in drawn.operators],
        "entries": [shown(entry.name) for entry in drawn.entries],
        "themes": THEMES,
    }
    return script_json(data)


def _model_operator(drawn: MemoryMap, index: int) -> dict[str, Any]:
    """Return an operator of the model file with its tensors."""
    operator = drawn.model_operators[index]
    return {
        "label": name(operator.as_named),
        "name": None if operator.name is None else shown(operator.name),
        "inputs": list(map(shown, operator.inputs)),
        "outputs": list(map(shown, operator.outputs)),
    }


def _pool(drawn: MemoryMap, pool: Pool) -> dict[str, Any]:
    height = _MAP_HEIGHT[pool.kind]
    panel = panel_of(drawn, pool, height)
    group = panel_group(drawn, pool, panel)
    return {
        "name": shown(pool.name),
        "height": height,
        "spec": page_spec(panel.height, _PADDING, panel_signals(drawn, pool), group),
        "buffers": [_buffer(buffer) for buffer in pool.buffers],
    }


def _buffer(buffer: Buffer) -> dict[str, Any]:
    return {
        "name": shown(buffer.name),
        "kind": buffer.kind,
        "ring": buffer.is_ring,
        "offset": buffer.offset_bytes,
        "size": buffer.size_bytes,
        "live": buffer.live_ranges,
        "overlaps": [(shown(overlap.name), overlap.shared_bytes) for overlap in buffer.overlaps],
        "entries": [shown(entry) for entry in buffer.entries],
        "written": buffer.written_by,
        "read": buffer.read_by,
    }


def measured_text(measured: Measured | None) -> str | None:
    """Return a measured cost with its unit; times are whole nanoseconds."""
    return None if measured is None else f"{measured.cost:.0f} {measured.unit}"


def _operator(drawn: MemoryMap, operator: Operator) -> dict[str, Any]:
    return {
        "label": shown(operator.label),
        "entry": shown(operator.entry),
        "positions": operator.positions,
        "macs": operator.macs,
        "instructions": operator.instructions,
        "measured": measured_text(operator.measured),
        "weights": operator.weights_bytes,
        "live": [(shown(pool), size) for pool, size in operator.live_bytes.items()],
        "functions": list(map(shown, operator.functions)),
        "model": [_model_operator(drawn, index) for index in operator.model_operators],
    }
