"""Keys of metadata.json for choices and counts of the compiler; absent if there are none."""

from __future__ import annotations

from typing import Any

from tvm.ir import IRModule

from usmp.names import LAYOUT, OPTIMIZE, ORDER, SEGMENTS, SMALL, TILES
from usmp.objects.attributes.compared import Compared, compared_of, details_of
from usmp.objects.attributes.module_attributes import (
    CODE_ATTR,
    FLOAT_OPERATORS_ATTR,
    MODEL_FILES_ATTR,
    PRUNED_CHANNELS_ATTR,
    REFERENCE_ATTR,
)
from usmp.objects.merged_functions import merged_functions


def float_operators(mod: IRModule) -> dict[str, int]:
    """Return, by name, the number of operators that a quantized graph computes in float."""
    counted = FLOAT_OPERATORS_ATTR.of(mod) or {}
    return {str(name): int(counted[name]) for name in sorted(counted, key=str)}


def pruned_channels(mod: IRModule) -> dict[str, dict[str, int]]:
    """Return the counts of removed channels that were constant or not read, if there are any."""
    counts = PRUNED_CHANNELS_ATTR.of(mod)
    if counts is None:
        return {}
    return {"pruned_channels": {str(name): int(counts[name]) for name in sorted(counts, key=str)}}


def model_files(mod: IRModule) -> dict[str, list[str]]:
    """Return the names of the files that the module was made from, if it was made from files."""
    names = MODEL_FILES_ATTR.of(mod)
    return {} if names is None else {"model_files": [str(name) for name in names]}


def reference(mod: IRModule) -> dict[str, dict[str, str]]:
    """Return where the reference build is or why there is none, if one was asked for."""
    record = REFERENCE_ATTR.of(mod)
    return {} if record is None else {"reference": {str(k): str(v) for k, v in record.items()}}


def search(mod: IRModule) -> dict[str, list[dict[str, Any]]]:
    """Return the record of the search, stage by stage, if there was a choice."""
    lines = [_line(compared) for compared in compared_of(mod)]
    return {"search": lines} if lines else {}


def _line(compared: Compared) -> dict[str, Any]:
    alternatives = [
        {
            "value": choice.value,
            **_bytes(choice.peak_bytes, choice.bound_bytes),
            "why": choice.why,
        }
        for choice in compared.alternatives
    ]
    return {
        "stage": compared.stage,
        **({"entry": compared.entry} if compared.entry else {}),
        "taken": compared.taken,
        "unit": "bytes",
        **_bytes(compared.peak_bytes),
        "alternatives": alternatives,
    }


def _bytes(peak_bytes: int | None, bound_bytes: int | None = None) -> dict[str, int]:
    known = {"peak_bytes": peak_bytes, "bound_bytes": bound_bytes}
    return {name: value for name, value in known.items() if value is not None}


def schedule_choices(mod: IRModule) -> dict[str, dict[str, Any]]:
    """Return the costs of the schedules for each goal, if there was a choice of schedules."""
    for details in details_of(mod, TILES):
        goals = {
            goal: {str(name): int(value) for name, value in sorted(details[goal].items())}
            for goal in OPTIMIZE
            if goal in details
        }
        return {"schedule_choices": {"optimize": str(details["optimize"]), **goals}}
    return {}


def image_layout(mod: IRModule) -> dict[str, dict[str, Any]]:
    """Return the layout of images, channels first or last, and the sizes for both, if there was a
    choice."""
    for sides in filter(None, details_of(mod, LAYOUT)):
        sizes = {str(name): int(sides[name]) for name in sorted(sides, key=str) if name != "layout"}
        return {"image_layout": {"layout": str(sides["layout"]), **sizes}}
    return {}


def merged_operators(mod: IRModule) -> dict[str, Any]:
    """Return the functions that operators share, with the names of their callers, and the kind of
    code. Without shared functions, the keys are present only if the user asked for small code."""
    merged = {str(v.name_hint): merged_functions(func) for v, func in mod.functions.items()}
    if not any(merged.values()) and CODE_ATTR.of(mod) != SMALL:
        return {}
    shared = {name: merged[name] for name in sorted(merged) if merged[name]}
    return {"merged_functions": shared, "shared_code": CODE_ATTR.of(mod)}


def operator_order(mod: IRModule) -> dict[str, Any]:
    """Return the high-water marks, over all entries, of the importer's and the chosen operator
    order, and their lower bound, in bytes. Return {} if no orders were compared."""
    orders = [line.details for line in compared_of(mod) if line.stage == ORDER and line.details]
    if not orders:
        return {}
    names = ("importer_live_bytes", "least_live_bytes", "live_bytes")
    order = {name: max(int(details[name]) for details in orders) for name in names}
    return {
        "operator_order": {**order, "optimal": order["live_bytes"] == order["least_live_bytes"]}
    }


def streaming(mod: IRModule) -> dict[str, Any]:
    """Return the bytes with and without interleaved operators, if some could be interleaved."""
    for details in details_of(mod, SEGMENTS):
        return {"streaming": {str(k): int(v) for k, v in details.items()}}
    return {}
