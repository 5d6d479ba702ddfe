"""What metadata.json says of operators that are computed in strips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir import IRModule

from usmp.names import STRIPS
from usmp.objects.attributes import STRIPS_ATTR
from usmp.objects.compared import details_of


def strips_metadata(mod: IRModule) -> dict[str, Any]:
    """Return which operators are in strips, and what was chosen from, if some could be."""
    # A module that went through `SplitIntoStrips` was not compared.
    before = STRIPS_ATTR.of(mod) or {}
    compared = [said for said in details_of(mod, STRIPS) if said]
    found = compared or ([before] if "max_extra_macs" in before else [])
    if not found:
        return {}
    (said,) = found
    choices = [{**_counts(choice), "chains": _chains(choice)} for choice in said["choices"]]
    return {
        "strips": {
            "max_extra_macs": float(said["max_extra_macs"]),
            **_counts(said),
            "chains": _chains(said),
            "choices": choices,
        }
    }


def _chains(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Operators in strips, and how many strips."""
    return [
        {"operators": [str(name) for name in chain["operators"]], **_counts(chain)}
        for chain in said["chains"]
    ]


def _counts(said: Mapping[str, Any]) -> dict[str, int]:
    """What is a number of bytes, operations or strips."""
    names = ("unsplit_peak_bytes", "peak_bytes", "strips", "macs_before", "macs")
    return {name: int(said[name]) for name in names if name in said}
