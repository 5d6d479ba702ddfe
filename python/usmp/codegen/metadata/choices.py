"""What compiling chose or counted, as metadata.json says it, where there is something to say."""

from __future__ import annotations

from typing import Any

from tvm.ir import IRModule

from usmp.names import LAYOUT, OPTIMIZE, ORDER, SEGMENTS, SMALL, TILES
from usmp.objects.attributes import (
    CODE_ATTR,
    FLOAT_OPERATORS_ATTR,
    MODEL_FILES_ATTR,
    PRUNED_CHANNELS_ATTR,
    REFERENCE_ATTR,
)
from usmp.objects.compared import Compared, compared_of, details_of
from usmp.objects.merged_functions import merged_functions


def float_operators(mod: IRModule) -> dict[str, int]:
    """How many operators of a quantized graph are computed in float, by name."""
    counted = FLOAT_OPERATORS_ATTR.of(mod) or {}
    return {str(name): int(counted[name]) for name in sorted(counted, key=str)}


def pruned_channels(mod: IRModule) -> dict[str, dict[str, int]]:
    """What was removed of channels that are constant or not read, if anything was."""
    said = PRUNED_CHANNELS_ATTR.of(mod)
    if said is None:
        return {}
    return {"pruned_channels": {str(name): int(said[name]) for name in sorted(said, key=str)}}


def model_files(mod: IRModule) -> dict[str, list[str]]:
    """Return the names of the files that the module was made from, if it was made from files."""
    names = MODEL_FILES_ATTR.of(mod)
    return {} if names is None else {"model_files": [str(name) for name in names]}


def reference(mod: IRModule) -> dict[str, dict[str, str]]:
    """Return where the reference build is or why there is none, if one was asked for."""
    given = REFERENCE_ATTR.of(mod)
    return {} if given is None else {"reference": {str(k): str(v) for k, v in given.items()}}


def search(mod: IRModule) -> dict[str, list[dict[str, Any]]]:
    """Return what was compared, stage by stage, if there was a choice."""
    lines = [_line(line) for line in compared_of(mod)]
    return {"search": lines} if lines else {}


def _line(line: Compared) -> dict[str, Any]:
    alternatives = [
        {"value": one.value, **_bytes(one.peak_bytes, one.bound_bytes), "why": one.why}
        for one in line.alternatives
    ]
    return {
        "stage": line.stage,
        **({"entry": line.entry} if line.entry else {}),
        "taken": line.taken,
        "unit": "bytes",
        **_bytes(line.peak_bytes),
        "alternatives": alternatives,
    }


def _bytes(peak_bytes: int | None, bound_bytes: int | None = None) -> dict[str, int]:
    known = {"peak_bytes": peak_bytes, "bound_bytes": bound_bytes}
    return {name: value for name, value in known.items() if value is not None}


def schedule_choices(mod: IRModule) -> dict[str, dict[str, Any]]:
    """Return what each goal takes, if there was a choice of schedules."""
    for said in details_of(mod, TILES):
        goals = {
            goal: {str(name): int(value) for name, value in sorted(said[goal].items())}
            for goal in OPTIMIZE
            if goal in said
        }
        return {"schedule_choices": {"optimize": str(said["optimize"]), **goals}}
    return {}


def image_layout(mod: IRModule) -> dict[str, dict[str, Any]]:
    """Return whether channels of images come first or last, and what either takes, if there was a
    choice."""
    for said in filter(None, details_of(mod, LAYOUT)):
        sizes = {str(name): int(said[name]) for name in sorted(said, key=str) if name != "layout"}
        return {"image_layout": {"layout": str(said["layout"]), **sizes}}
    return {}


def merged_operators(mod: IRModule) -> dict[str, dict[str, list[str]]]:
    """The functions that operators share, and whose code they are; if the code is to be small also
    that there are none."""
    merged = {str(v.name_hint): merged_functions(func) for v, func in mod.functions.items()}
    if not any(merged.values()) and CODE_ATTR.of(mod) != SMALL:
        return {}
    return {"merged_functions": {name: merged[name] for name in sorted(merged) if merged[name]}}


def operator_order(mod: IRModule) -> dict[str, Any]:
    """Return what the order of the operators does, if there are several orders.

    Of several entries, it is the most that any of them needs. Of one with a single order nothing is
    known.
    """
    orders = [line.details for line in compared_of(mod) if line.stage == ORDER and line.details]
    if not orders:
        return {}
    names = ("importer_live_bytes", "least_live_bytes", "live_bytes")
    order = {name: max(int(said[name]) for said in orders) for name in names}
    return {
        "operator_order": {**order, "optimal": order["live_bytes"] == order["least_live_bytes"]}
    }


def streaming(mod: IRModule) -> dict[str, Any]:
    """Return what operators that run interleaved save, if some could."""
    for said in details_of(mod, SEGMENTS):
        return {"streaming": {str(k): int(v) for k, v in said.items()}}
    return {}
