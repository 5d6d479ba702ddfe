"""The difference of two builds as JSON: the document "usmp.diff"."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from usmp.report.diff.plan_diff import Change, ItemDiff, ModuleDiff

SCHEMA, VERSION = "usmp.diff", 1
"""Name and version of the document; the version changes if a field is removed or redefined."""

_KEYS = {
    "pools": ("name", "kind"),
    "entries": ("entry",),
    "buffers": ("function", "name", "kind"),
    "operators": ("entry", "functions"),
}


def diff_json(
    files: tuple[str, str],
    diffs: Sequence[ModuleDiff],
    unmatched: tuple[Sequence[str], Sequence[str]],
    limits: Sequence[Mapping[str, Any]],
) -> str:
    """Return the document "usmp.diff" as JSON.

    Parameters
    ----------
    files
        the compared files, before and after.
    diffs
        differences of the modules that both files have.
    unmatched
        names of the modules that only the first file has, and that only the second has.
    limits
        limits on the growth, and whether they are exceeded.
    """
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "before": files[0],
        "after": files[1],
        "identical": not any(unmatched) and all(diff.is_identical for diff in diffs),
        "modules": [_module(diff) for diff in diffs],
        "only_before": list(unmatched[0]),
        "only_after": list(unmatched[1]),
        "limits": list(limits),
    }
    return json.dumps(document, indent=2) + "\n"


def _module(diff: ModuleDiff) -> dict[str, Any]:
    return {
        "name": diff.name,
        "name_before": diff.name_before,
        "title": diff.title,
        "identical": diff.is_identical,
        "sums": _changes(diff.sums),
        "compiler": {"before": diff.compiler.before, "after": diff.compiler.after},
        **{
            kind: [_item(item, keys) for item in getattr(diff, kind)]
            for kind, keys in _KEYS.items()
        },
        "notes": list(diff.notes),
    }


def _item(item: ItemDiff, keys: Sequence[str]) -> dict[str, Any]:
    renamed = {} if item.key_before is None else {"renamed_from": _named(item.key_before, keys)}
    return {
        **_named(item.key, keys),
        "status": item.status,
        **renamed,
        **({"label": item.origin} if item.origin else {}),
        "values": _changes(item.values),
    }


def _named(key: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Return the parts of a key by name, with the number that makes a repeated key unique."""
    number = {"number": int(key[len(names)].removeprefix("#"))} if len(key) > len(names) else {}
    return {**dict(zip(names, key, strict=False)), **number}


def _changes(changes: Mapping[str, Change]) -> dict[str, dict[str, Any]]:
    return {
        name: {"before": change.before, "after": change.after} for name, change in changes.items()
    }
