"""What compiling chose or counted, as metadata.json says it, where there is something to say."""

from __future__ import annotations

from typing import Any

from tvm.ir import IRModule

from usmp.names import OPTIMIZE, SMALL
from usmp.objects.attributes import (
    CODE_ATTR,
    FLOAT_OPERATORS_ATTR,
    IMAGE_LAYOUT_ATTR,
    MODEL_FILES_ATTR,
    OPERATOR_ORDER_ATTR,
    PRUNED_CHANNELS_ATTR,
    REFERENCE_ATTR,
    SCHEDULE_CHOICES_ATTR,
    STREAMING_ATTR,
)
from usmp.objects.merged_functions import merged_functions


def float_operators(mod: IRModule) -> dict[str, int]:
    """How many operators of a quantized graph are computed in float, by name."""
    counted = (mod.attrs or {}).get(FLOAT_OPERATORS_ATTR, {})
    return {str(name): int(counted[name]) for name in sorted(counted, key=str)}


def pruned_channels(mod: IRModule) -> dict[str, dict[str, int]]:
    """What was removed of channels that are constant or not read, if anything was."""
    said = (mod.attrs or {}).get(PRUNED_CHANNELS_ATTR)
    if said is None:
        return {}
    return {"pruned_channels": {str(name): int(said[name]) for name in sorted(said, key=str)}}


def model_files(mod: IRModule) -> dict[str, list[str]]:
    """Return the names of the files that the module was made from, if it was made from files."""
    names = (mod.attrs or {}).get(MODEL_FILES_ATTR)
    return {} if names is None else {"model_files": [str(name) for name in names]}


def reference(mod: IRModule) -> dict[str, dict[str, str]]:
    """Return where the reference build is or why there is none, if one was asked for."""
    given = (mod.attrs or {}).get(REFERENCE_ATTR)
    return {} if given is None else {"reference": {str(k): str(v) for k, v in given.items()}}


def schedule_choices(mod: IRModule) -> dict[str, dict[str, Any]]:
    """What each goal takes, if there was a choice of schedules."""
    said = (mod.attrs or {}).get(SCHEDULE_CHOICES_ATTR)
    if said is None:
        return {}
    goals = {
        goal: {str(name): int(value) for name, value in sorted(said[goal].items())}
        for goal in OPTIMIZE
        if goal in said
    }
    return {"schedule_choices": {"optimize": str(said["optimize"]), **goals}}


def image_layout(mod: IRModule) -> dict[str, dict[str, Any]]:
    """Which channels of images come first or last, and what either takes, if there was a choice."""
    said = (mod.attrs or {}).get(IMAGE_LAYOUT_ATTR)
    if said is None:
        return {}
    sizes = {str(name): int(said[name]) for name in sorted(said, key=str) if name != "layout"}
    return {"image_layout": {"layout": str(said["layout"]), **sizes}}


def merged_operators(mod: IRModule) -> dict[str, dict[str, list[str]]]:
    """The functions that operators share, and whose code they are; if the code is to be small also
    that there are none."""
    merged = {str(v.name_hint): merged_functions(func) for v, func in mod.functions.items()}
    if not any(merged.values()) and (mod.attrs or {}).get(CODE_ATTR) != SMALL:
        return {}
    return {"merged_functions": {name: merged[name] for name in sorted(merged) if merged[name]}}


def operator_order(mod: IRModule) -> dict[str, Any]:
    """What the order of the operators does, if there are several."""
    if OPERATOR_ORDER_ATTR not in (mod.attrs or {}):
        return {}
    order = {str(key): int(value) for key, value in mod.attrs[OPERATOR_ORDER_ATTR].items()}
    return {
        "operator_order": {**order, "optimal": order["live_bytes"] == order["least_live_bytes"]}
    }


def streaming(mod: IRModule) -> dict[str, Any]:
    """What operators that run interleaved save, if some could."""
    if STREAMING_ATTR not in (mod.attrs or {}):
        return {}
    return {"streaming": {str(k): int(v) for k, v in mod.attrs[STREAMING_ATTR].items()}}
