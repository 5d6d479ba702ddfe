"""The difference of two builds for other programs: the document "usmp.diff"."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from usmp.report.plan_diff import Change, ItemDiff, ModuleDiff

SCHEMA, VERSION = "usmp.diff", 1
"""What the document begins with; the version changes if a field changes its meaning or goes."""

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
    """The document as text.

    Parameters
    ----------
    files
        what was compared: before, and after.
    diffs
        the modules of both.
    unmatched
        names of modules that only the first, and only the second file has.
    limits
        what was asked of the growth, and whether it holds.
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
        "identical": diff.is_identical,
        "sums": _changes(diff.sums),
        "compiler": {"before": diff.compiler.before, "after": diff.compiler.after},
        **{
            what: [_item(item, keys) for item in getattr(diff, what)]
            for what, keys in _KEYS.items()
        },
        "notes": list(diff.notes),
    }


def _item(item: ItemDiff, keys: Sequence[str]) -> dict[str, Any]:
    was = {} if item.key_before is None else {"renamed_from": _named(item.key_before, keys)}
    return {
        **_named(item.key, keys),
        "status": item.status,
        **was,
        "values": _changes(item.values),
    }


def _named(key: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """The parts of a key by name; the second of one key has a number too."""
    number = {"number": int(key[len(names)].removeprefix("#"))} if len(key) > len(names) else {}
    return {**dict(zip(names, key, strict=False)), **number}


def _changes(changes: Mapping[str, Change]) -> dict[str, dict[str, Any]]:
    return {
        name: {"before": change.before, "after": change.after} for name, change in changes.items()
    }
