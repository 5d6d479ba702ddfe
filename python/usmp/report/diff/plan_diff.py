"""The differences between two builds of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from usmp.report.diff.build_facts import BuildFacts, Item
from usmp.report.shared_code import shared_code_note

APPEARED, VANISHED, CHANGED, RENAMED = "appeared", "vanished", "changed", "renamed"


@dataclass(frozen=True)
class Change:
    """A value in both builds, or None for a build without the value."""

    before: Any
    after: Any

    @property
    def is_change(self) -> bool:
        return bool(self.before != self.after)

    @property
    def growth(self) -> int:
        """The difference of two numbers, where a missing number counts as 0."""
        return int(self.after or 0) - int(self.before or 0)


@dataclass(frozen=True)
class ItemDiff:
    """The difference of a pool, an entry, a buffer or an operator.

    Parameters
    ----------
    key
        key in the later build, or in the earlier one if the item vanished.
    status
        `APPEARED`, `VANISHED`, `CHANGED` or `RENAMED`.
    values
        all compared values, changed or not.
    key_before
        key in the earlier build, if the item was renamed.
    origin
        operators of the model file that an operator computes; empty if they are unknown.
    """

    key: tuple[str, ...]
    status: str
    values: Mapping[str, Change]
    key_before: tuple[str, ...] | None = None
    origin: str = ""

    @property
    def changed(self) -> dict[str, Change]:
        """The values that differ."""
        return {name: change for name, change in self.values.items() if change.is_change}


@dataclass(frozen=True)
class ModuleDiff:
    """The differences of a module between two builds.

    Parameters
    ----------
    name, name_before
        names of the module; empty if a file lacks the name.
    title, title_before
        titles of the module in reports; empty if a file lacks them.
    sums
        totals in bytes that are known of both builds, by name.
    pools, entries, buffers, operators
        the items that differ; entries only if a module has several.
    compiler
        compiler and options of each build; None if its code was not compiled.
    notes
        sentences about the compilers, about shared code, and about facts that could not be
        compared.
    """

    name: str
    name_before: str
    sums: Mapping[str, Change]
    pools: Sequence[ItemDiff]
    entries: Sequence[ItemDiff]
    buffers: Sequence[ItemDiff]
    operators: Sequence[ItemDiff]
    compiler: Change
    notes: Sequence[str]
    title: str = ""
    title_before: str = ""

    @property
    def is_identical(self) -> bool:
        """Whether no item and no total differs; compilers may differ."""
        lists = (self.pools, self.entries, self.buffers, self.operators)
        return not any(lists) and not any(sums.is_change for sums in self.sums.values())

    @property
    def flash(self) -> Change:
        """The total flash, or only the constants if the code of a build is unknown."""
        return self.sums.get("flash_size_bytes") or self.sums["constants_size_bytes"]


def diff_builds(before: BuildFacts, after: BuildFacts, notes: Sequence[str] = ()) -> ModuleDiff:
    """Compare two modules.

    Pools, entries and operators are matched by name, buffers by function, name and kind. A buffer
    that vanished and a buffer that appeared are one renamed buffer if they have the same kind, size
    and known producer, and no other vanished or appeared buffer has these three.
    """
    sums = {
        name: Change(before.sums[name], after.sums[name])
        for name in (*before.sums, "flash_size_bytes")
        if name in before.sums and name in after.sums
    }
    has_several = max(len(before.entries), len(after.entries)) > 1
    compiler = Change(*(b.code.compiler if b.code else None for b in (before, after)))
    return ModuleDiff(
        after.name,
        before.name,
        sums,
        _diff(before.pools, after.pools),
        # The sums already describe a single entry.
        _diff(before.entries, after.entries) if has_several else [],
        _with_renamed(_diff(before.buffers, after.buffers), before.buffers, after.buffers),
        _operators(before, after),
        compiler,
        [*_compiler_notes(compiler), *_shared_code_notes(before, after), *notes],
        after.title,
        before.title,
    )


def _compiler_notes(compiler: Change) -> list[str]:
    """Return a sentence about the compilers, if the code of both builds was compiled."""
    if compiler.before is None or compiler.after is None:
        return []
    if compiler.is_change:
        return [
            f"The code of both was compiled differently: {compiler.before}, and {compiler.after}."
        ]
    return [f"Code as {compiler.after} makes it."]


def _shared_code_notes(before: BuildFacts, after: BuildFacts) -> list[str]:
    """Return a sentence about shared code, if instructions are compared that leave it out."""
    operators = (*(before.operators or ()), *(after.operators or ()))
    if not any("instructions" in operator.values for operator in operators):
        return []
    note = shared_code_note(before.shared_code, after.shared_code)
    return [] if note is None else [note]


def _operators(before: BuildFacts, after: BuildFacts) -> list[ItemDiff]:
    if before.operators is None or after.operators is None:
        return []
    return _diff(before.operators, after.operators)


def _diff(before: Sequence[Item], after: Sequence[Item]) -> list[ItemDiff]:
    """Return the items of `after` that appeared or changed, then the items that vanished."""
    old = {item.key: item for item in before}
    new = {item.key for item in after}
    diffs = []
    for item in after:
        if item.key not in old:
            values = {name: Change(None, value) for name, value in item.values.items()}
            diffs.append(ItemDiff(item.key, APPEARED, values, origin=item.origin))
        elif changes := _changes(old[item.key], item):
            diffs.append(ItemDiff(item.key, CHANGED, changes, origin=item.origin))
    for item in before:
        if item.key not in new:
            values = {name: Change(value, None) for name, value in item.values.items()}
            diffs.append(ItemDiff(item.key, VANISHED, values, origin=item.origin))
    return diffs


def _changes(before: Item, after: Item) -> dict[str, Change]:
    """Return all common values of two items, or none if no value changed."""
    changes = {
        name: Change(before.values[name], value)
        for name, value in after.values.items()
        if name in before.values
    }
    return changes if any(change.is_change for change in changes.values()) else {}


def _with_renamed(
    diffs: Sequence[ItemDiff], before: Sequence[Item], after: Sequence[Item]
) -> list[ItemDiff]:
    """Join a vanished and an appeared buffer if they must be the same buffer."""
    old, new = _by_identity(diffs, before, VANISHED), _by_identity(diffs, after, APPEARED)
    renamed = {
        new[identity][0].key: old[identity][0]
        for identity in old.keys() & new.keys()
        if len(old[identity]) == len(new[identity]) == 1
    }
    values = {item.key: item for item in after}
    vanished = {item.key for item in renamed.values()}
    result = []
    for diff in diffs:
        if diff.status == APPEARED and diff.key in renamed:
            old_item = renamed[diff.key]
            changes = {
                name: Change(old_item.values[name], value)
                for name, value in values[diff.key].values.items()
            }
            result.append(ItemDiff(diff.key, RENAMED, changes, old_item.key))
        elif not (diff.status == VANISHED and diff.key in vanished):
            result.append(diff)
    return result


def _by_identity(
    diffs: Sequence[ItemDiff], items: Sequence[Item], status: str
) -> dict[tuple[Any, ...], list[Item]]:
    """Group buffers of a status by producer, kind and size, which identify renamed buffers."""
    keys = {diff.key for diff in diffs if diff.status == status}
    groups: dict[tuple[Any, ...], list[Item]] = {}
    for item in items:
        if item.key in keys and item.producer is not None:
            identity = (item.producer, item.key[2], item.values["size_bytes"])
            groups.setdefault(identity, []).append(item)
    return groups
