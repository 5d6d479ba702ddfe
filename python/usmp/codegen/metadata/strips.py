"""Operators in strips in metadata.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir import IRModule

from usmp.names import STRIPS
from usmp.objects.attributes.compared import details_of
from usmp.objects.attributes.module_attributes import STRIPS_ATTR


def strips_metadata(mod: IRModule) -> dict[str, Any]:
    """Return the operators in strips, and the alternatives, if some operators could be split."""
    # Without a search, the pass `SplitIntoStrips` records its choice.
    before = STRIPS_ATTR.of(mod) or {}
    compared = [details for details in details_of(mod, STRIPS) if details]
    records = compared or ([before] if "max_extra_macs" in before else [])
    if not records:
        return {}
    (record,) = records
    choices = [{**_counts(choice), "chains": _chains(choice)} for choice in record["choices"]]
    return {
        "strips": {
            "max_extra_macs": float(record["max_extra_macs"]),
            **_counts(record),
            "chains": _chains(record),
            "choices": choices,
        }
    }


def _chains(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the chains of operators in strips, each with its counts."""
    return [
        {"operators": [str(name) for name in chain["operators"]], **_counts(chain)}
        for chain in record["chains"]
    ]


def _counts(record: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of bytes, operations and strips in a record."""
    names = ("unsplit_peak_bytes", "peak_bytes", "strips", "macs_before", "macs")
    return {name: int(record[name]) for name in names if name in record}
