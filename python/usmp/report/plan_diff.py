"""How two builds of a model differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from usmp.report.build_facts import BuildFacts, Item

APPEARED, VANISHED, CHANGED, RENAMED = "appeared", "vanished", "changed", "renamed"


@dataclass(frozen=True)
class Change:
    """A value of both builds; None where one has no such value."""

    before: Any
    after: Any

    @property
    def is_change(self) -> bool:
        return bool(self.before != self.after)

    @property
    def growth(self) -> int:
        """After minus before, of numbers; what is missing is 0."""
        return int(self.after or 0) - int(self.before or 0)


@dataclass(frozen=True)
class ItemDiff:
    """What became of a pool, an entry, a buffer or an operator.

    Parameters
    ----------
    key
        what it is called after; before, if it vanished.
    status
        `APPEARED`, `VANISHED`, `CHANGED` or `RENAMED`.
    values
        all that is compared, whether it changed or not.
    key_before
        what it was called, if it was renamed.
    """

    key: tuple[str, ...]
    status: str
    values: Mapping[str, Change]
    key_before: tuple[str, ...] | None = None

    @property
    def changed(self) -> dict[str, Change]:
        """The values that are not the same."""
        return {name: change for name, change in self.values.items() if change.is_change}


@dataclass(frozen=True)
class ModuleDiff:
    """How a module differs from that of another build.

    Parameters
    ----------
    name, name_before
        of the module; empty if the file does not say.
    sums
        bytes in all; those that only one build says are missing.
    pools, entries, buffers, operators
        those that are not the same; entries if a module has several.
    compiler
        what compiled the code of each build, with its options; None if its code was not compiled.
    notes
        sentences about what was compiled, and about what could not be compared.
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

    @property
    def is_identical(self) -> bool:
        """Whether nothing differs."""
        lists = (self.pools, self.entries, self.buffers, self.operators)
        return not any(lists) and not any(sums.is_change for sums in self.sums.values())

    @property
    def flash(self) -> Change:
        """Flash in all, or only the constants if the code of one build is not known."""
        return self.sums.get("flash_size_bytes") or self.sums["constants_size_bytes"]


def diff_builds(before: BuildFacts, after: BuildFacts, notes: Sequence[str] = ()) -> ModuleDiff:
    """Compare two modules.

    Pools, entries and operators are matched by name, buffers by function, name and kind. A buffer
    counts as renamed if it is the only one that vanished, and the only one that appeared, with
    this kind and size from one operator.
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
        # Of the only entry the sums say the same.
        _diff(before.entries, after.entries) if has_several else [],
        _with_renamed(_diff(before.buffers, after.buffers), before.buffers, after.buffers),
        _operators(before, after),
        compiler,
        [*_compiler_notes(compiler), *notes],
    )


def _compiler_notes(compiler: Change) -> list[str]:
    """What compiled the code, if that of both was compiled."""
    if compiler.before is None or compiler.after is None:
        return []
    if compiler.is_change:
        return [
            f"The code of both was compiled differently: {compiler.before}, and {compiler.after}."
        ]
    return [f"Code as {compiler.after} makes it."]


def _operators(before: BuildFacts, after: BuildFacts) -> list[ItemDiff]:
    if before.operators is None or after.operators is None:
        return []
    return _diff(before.operators, after.operators)


def _diff(before: Sequence[Item], after: Sequence[Item]) -> list[ItemDiff]:
    """Those that are not the same, in the order of `after`, and then those that vanished."""
    old = {item.key: item for item in before}
    new = {item.key for item in after}
    diffs = []
    for item in after:
        if item.key not in old:
            values = {name: Change(None, value) for name, value in item.values.items()}
            diffs.append(ItemDiff(item.key, APPEARED, values))
        elif changes := _changes(old[item.key], item):
            diffs.append(ItemDiff(item.key, CHANGED, changes))
    for item in before:
        if item.key not in new:
            values = {name: Change(value, None) for name, value in item.values.items()}
            diffs.append(ItemDiff(item.key, VANISHED, values))
    return diffs


def _changes(before: Item, after: Item) -> dict[str, Change]:
    """All values that both have, if one of them changed."""
    changes = {
        name: Change(before.values[name], value)
        for name, value in after.values.items()
        if name in before.values
    }
    return changes if any(change.is_change for change in changes.values()) else {}


def _with_renamed(
    diffs: Sequence[ItemDiff], before: Sequence[Item], after: Sequence[Item]
) -> list[ItemDiff]:
    """Join what vanished and what appeared where it is surely the same buffer."""
    old, new = _by_identity(diffs, before, VANISHED), _by_identity(diffs, after, APPEARED)
    renamed = {
        new[identity][0].key: old[identity][0]
        for identity in old.keys() & new.keys()
        if len(old[identity]) == len(new[identity]) == 1
    }
    values = {item.key: item for item in after}
    gone = {item.key for item in renamed.values()}
    result = []
    for diff in diffs:
        if diff.status == APPEARED and diff.key in renamed:
            was = renamed[diff.key]
            changes = {
                name: Change(was.values[name], value)
                for name, value in values[diff.key].values.items()
            }
            result.append(ItemDiff(diff.key, RENAMED, changes, was.key))
        elif not (diff.status == VANISHED and diff.key in gone):
            result.append(diff)
    return result


def _by_identity(
    diffs: Sequence[ItemDiff], items: Sequence[Item], status: str
) -> dict[tuple[Any, ...], list[Item]]:
    """Buffers of that status by what makes sure that two are the same."""
    keys = {diff.key for diff in diffs if diff.status == status}
    found: dict[tuple[Any, ...], list[Item]] = {}
    for item in items:
        if item.key in keys and item.producer is not None:
            identity = (item.producer, item.key[2], item.values["size_bytes"])
            found.setdefault(identity, []).append(item)
    return found
