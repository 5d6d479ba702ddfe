"""Tables of the difference of two builds, for a terminal or as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from rich.console import Console

from usmp.report.diff.plan_diff import (
    APPEARED,
    CHANGED,
    RENAMED,
    VANISHED,
    Change,
    ItemDiff,
    ModuleDiff,
)
from usmp.report.text_tables import (
    TextTable,
    details,
    markdown_name,
    markdown_table,
    markdown_text,
    print_table,
    print_text,
)
from usmp.support.text.plain_text import shown

_SUMS = {
    "ram_size_bytes": "RAM, without the stack",
    "workspace_size_bytes": "  workspace",
    "io_size_bytes": "  inputs and outputs",
    "state_size_bytes": "  state, in the workspace",
    "flash_size_bytes": "flash",
    "constants_size_bytes": "  constants",
    "code_size_bytes": "  code",
    "source_size_bytes": "text of the C, not compiled",
}
_MOST_ROWS = 40
"""Most rows of buffers or of operators; `--format json` has all."""


def print_diff(diff: ModuleDiff, console: Console) -> None:
    """Print the differences of two builds of a module, or one line if they are identical."""
    if diff.is_identical:
        print_text(_identical(diff), console)
    for table in [] if diff.is_identical else diff_tables(diff):
        print_table(table, console)
    for sentence in (*_omissions(diff), *diff.notes):
        print_text(sentence, console)


def markdown_diff(diff: ModuleDiff) -> str:
    """Return the differences as Markdown for a pull request; tables of items are collapsed."""
    if diff.is_identical:
        parts = [f"{_identical(diff)}\n"]
    else:
        sums, *others = diff_tables(diff)
        name = f" of {markdown_name(diff.title)}" if diff.title else ""
        parts = [f"**Memory{name}**\n", markdown_table(sums)]
        parts += [details(_count(table), markdown_table(table)) for table in others]
    parts += [f"{markdown_text(sentence)}\n" for sentence in (*_omissions(diff), *diff.notes)]
    return "\n".join(parts)


def diff_tables(diff: ModuleDiff) -> list[TextTable]:
    """Return the table of sums, and a table for each kind of item that differs."""
    title = f"Memory of {diff.title}" if diff.title else "Memory"
    if diff.title_before != diff.title:
        title += f", which was {diff.title_before or 'without a name'}"
    tables = [_sums(title, diff)]
    for items, make in (
        (diff.pools, _pools),
        (diff.entries, _entries),
        (_shown_buffers(diff), _buffers),
        (diff.operators, _operators),
    ):
        if items:
            tables.append(make(items))
    return tables


def _identical(diff: ModuleDiff) -> str:
    sums = [
        f"{memory} {diff.sums[key].after} bytes"
        for key, memory in (
            ("ram_size_bytes", "RAM"),
            ("constants_size_bytes", "constants"),
            ("code_size_bytes", "code"),
        )
        if key in diff.sums
    ]
    return f"No difference: {', '.join(sums)}."


def _sums(title: str, diff: ModuleDiff) -> TextTable:
    rows = []
    for key, label in _SUMS.items():
        # The size of the C text matters only if the size of the compiled code is unknown.
        if key in diff.sums and not (key == "source_size_bytes" and "code_size_bytes" in diff.sums):
            rows.append([label, *_numbers(diff.sums[key])])
    return TextTable(
        title,
        ("bytes", "before", "after", "change"),
        rows,
        names=frozenset(),
        numbers=frozenset({1, 2, 3}),
    )


def _pools(items: Sequence[ItemDiff]) -> TextTable:
    rows = [
        [
            item.key[0],
            item.key[1],
            _arrow(item.values["peak_bytes"]),
            f"{item.values['peak_bytes'].growth:+}",
            _arrow(item.values["lower_bound_bytes"]),
            _arrow(item.values["optimal"], lambda value: "yes" if value else "no"),
        ]
        for item in items
    ]
    headings = ("pool", "kind", "peak bytes", "change", "lower bound", "proved")
    return TextTable("Pools", headings, rows, numbers=frozenset({2, 3, 4}))


def _entries(items: Sequence[ItemDiff]) -> TextTable:
    keys = ("peak_bytes", "io_size_bytes", "state_size_bytes")
    rows = [
        [item.key[0], item.status, *(_arrow(item.values.get(k, Change(None, None))) for k in keys)]
        for item in items
    ]
    headings = ("entry", "what", "peak bytes", "inputs and outputs", "state")
    return TextTable("Entries", headings, rows, numbers=frozenset({2, 3, 4}))


def _shown_buffers(diff: ModuleDiff) -> list[ItemDiff]:
    """Return the buffers that changed themselves, the largest change of size first."""
    items = [item for item in diff.buffers if _only_elsewhere(item) is None]
    return sorted(items, key=lambda item: -abs(item.values["size_bytes"].growth))


def _only_elsewhere(item: ItemDiff) -> str | None:
    """Return the change of a buffer that follows from changes elsewhere (of the program, or of the
    constants before it), or None if the buffer itself changed."""
    changed = set(item.changed)
    if item.status != CHANGED:
        return None
    if changed == {"live_ranges"}:
        return "live at other positions of the program"
    if item.key[2] == "constant" and changed <= {"live_ranges", "offset"}:
        return "constants at another offset of their pool"
    return None


def _omissions(diff: ModuleDiff) -> list[str]:
    """Return sentences about the buffers and operators that the tables omit."""
    counts = Counter(filter(None, map(_only_elsewhere, diff.buffers)))
    sentences = [
        f"Not shown, as nothing else changed of {'it' if count == 1 else 'them'}: {count} "
        f"{'buffer' if count == 1 else 'buffers'}, {change}."
        for change, count in counts.items()
    ]
    for items, noun in ((_shown_buffers(diff), "buffers"), (diff.operators, "operators")):
        if len(items) > _MOST_ROWS:
            sentences.append(f"{len(items) - _MOST_ROWS} more {noun}: --format json has them all.")
    return sentences


def _buffers(items: Sequence[ItemDiff]) -> TextTable:
    rows = [
        [
            item.key[1],
            item.key[2],
            buffer_words(item),
            _arrow(item.values["size_bytes"]),
            growth_text(item.values["size_bytes"]),
            _arrow(_places(item)),
        ]
        for item in items[:_MOST_ROWS]
    ]
    headings = ("buffer", "kind", "what", "bytes", "change", "offset")
    # Column 2 may have a buffer's earlier name, and column 5 a pool's name.
    return TextTable(
        "Buffers",
        headings,
        rows,
        names=frozenset({0, 2, 5}),
        numbers=frozenset({3, 4, 5}),
        one_line=frozenset({0}),
        optional=(1,),
    )


def _places(item: ItemDiff) -> Change:
    """Return the offsets before and after, with pools if the pool changed."""
    offset, pool = item.values["offset"], item.values["pool"]
    if item.status in (CHANGED, RENAMED) and pool.is_change:
        return Change(f"{pool.before}+{offset.before}", f"{pool.after}+{offset.after}")
    return offset


def buffer_words(item: ItemDiff) -> str:
    """Return the changes of a buffer in words."""
    if item.status in (APPEARED, VANISHED):
        return item.status
    words = []
    if item.key_before is not None:
        words.append(f"renamed, was {item.key_before[1]}")
    changed = item.changed
    if "size_bytes" in changed:
        words.append("grew" if changed["size_bytes"].growth > 0 else "shrank")
    if "pool" in changed:
        words.append("other pool")
    elif "offset" in changed:
        words.append("moved")
    if "live_ranges" in changed:
        words.append("other live range")
    return ", ".join(words)


def _operators(items: Sequence[ItemDiff]) -> TextTable:
    largest = sorted(items, key=_weight, reverse=True)
    columns = {
        "macs": "MACs",
        "instructions": "instructions",
        "code_size_bytes": "code",
        "constants_size_bytes": "constants",
    }
    known = {
        key: heading
        for key, heading in columns.items()
        if any(key in item.values for item in items)
    }
    origins = ["operator of the model"] if any(item.origin for item in items) else []
    rows = [
        [
            *([item.origin] if origins else []),
            item.key[1],
            item.status,
            *(_arrow(item.values.get(key, Change(None, None))) for key in known),
        ]
        for item in largest[:_MOST_ROWS]
    ]
    first = len(origins)
    return TextTable(
        "Operators",
        (*origins, "function", "what", *known.values()),
        rows,
        names=frozenset(range(first + 1)),
        numbers=frozenset(range(first + 2, first + 2 + len(known))),
        one_line=frozenset({first}),
    )


def _weight(item: ItemDiff) -> tuple[int, int]:
    """Return a sort key: the absolute change in multiply-accumulates, then in bytes of code."""
    macs, code = (item.values.get(k, Change(0, 0)) for k in ("macs", "code_size_bytes"))
    return abs(macs.growth), abs(code.growth)


def _numbers(change: Change) -> list[str]:
    """Return the cells before, after, and growth."""
    return [_text(change.before), _text(change.after), growth_text(change)]


def growth_text(change: Change) -> str:
    """Return the growth in bytes, and in percent if both builds have a value."""
    if change.before is None or change.after is None:
        return f"{change.growth:+}" if change.is_change else ""
    if not change.is_change:
        return "0"
    percent = f"{100 * change.growth / change.before:+.1f}" if change.before else "0"
    return f"{change.growth:+}" + (f" ({percent} %)" if float(percent) else "")


def _arrow(change: Change, text: Callable[[object], str] = str) -> str:
    """Return the values before and after in one cell."""
    values = [text(value) for value in (change.before, change.after) if value is not None]
    if not change.is_change:
        return values[0] if values else ""
    if len(values) == 1:
        return values[0]
    return " -> ".join(values)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _count(table: TextTable) -> str:
    return f"{shown(table.title)}: {len(table.rows)} changed"
