"""The summary of the memory plan that `tvmc compile` prints at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from usmp.names import OVERLAP_INPUTS_AND_OUTPUTS, PRUNE_CONSTANT_CHANNELS
from usmp.report.compared_table import compared_table
from usmp.report.counts import shortened, shown_ratio
from usmp.report.plan_formats import has_several_entries
from usmp.report.summary.code import code_sentence
from usmp.report.summary.dynamic import dynamic_sentences
from usmp.report.summary.io import io_sentences
from usmp.report.summary.sizes import has_fixed_offsets, sizes_sentence
from usmp.report.summary.streaming import rows_sentence, windows_sentence
from usmp.report.text_tables import TextTable, print_table, print_text, printed_text
from usmp.report.title import title_of
from usmp.report.unfinished_search import unfinished_search
from usmp.support.model_operators import titles
from usmp.support.text.plain_text import shown

_SHOWN_BUFFERS = 6
_SHOWN_ENTRIES = 3


def memory_summary(metadata: Mapping[str, Any]) -> str:
    """Return the text that `print_memory_summary` prints, without colors."""
    return printed_text(lambda console: print_memory_summary(metadata, console))


def print_memory_summary(metadata: Mapping[str, Any], console: Console | None = None) -> None:
    """Print a summary of the plan, from the metadata of one module of an archive.

    Each pool has its peak, the lower bound, their ratio, and whether the peak is proved optimal.
    With several entries, a table has the needs of each. Workspace pools have the live buffers at
    the peak, and the bytes that these overwrite. The end has facts for the application: the bytes
    of states, the total RAM, and the constants in flash.
    """
    console = console or Console(highlight=False)
    memory = metadata["memory"]
    print_table(_pools(metadata), console)
    for pool in memory["pools"]:
        if place := _place(pool):
            print_text(f"Pool {shown(pool['name'])}: {place}.", console)
    mains = memory["functions"]["main"]
    if len(mains) > 1:
        print_table(_entries(mains), console)
    for pool in memory["pools"]:
        if pool["kind"] == "workspace" and pool["buffers"]:
            operator = _operator_at_peak(metadata, pool)
            if operator:
                print_text(f"Peak of {shown(pool['name'])} at {operator}.", console)
            print_table(_live_at_peak(pool), console)
            _print_overlap(pool, console)
    compared = compared_table(metadata)
    if compared is not None:
        print_table(compared, console)
    for ending in unfinished_search(memory):
        print_text(ending, console)
    _print_access_cycles(memory.get("placement", {}), console)
    pools = [(pool["name"], _state_bytes(pool)) for pool in memory["pools"]]
    state_bytes = sum(size for _, size in pools)
    if state_bytes:
        where = ", ".join(f"{size} in {shown(name)}" for name, size in pools if size)
        print_text(
            f"State, {state_bytes} bytes, is kept between runs ({where}): nothing "
            "else may write these bytes.",
            console,
        )
    floats = metadata.get("float_operators", {})
    if floats:
        names = ", ".join(f"{shown(name)} ({count})" for name, count in floats.items())
        print_text(
            f"{sum(floats.values())} operators of the quantized model are computed in float: "
            f"{names}.",
            console,
        )
    if "pruned_channels" in metadata:
        print_text(_pruning_sentence(metadata["pruned_channels"]), console)
    for sentence in (
        sizes_sentence(metadata),
        windows_sentence(metadata),
        rows_sentence(metadata),
        *io_sentences(memory),
        code_sentence(metadata),
        *dynamic_sentences(metadata),
    ):
        if sentence is not None:
            print_text(sentence, console)
    if "ram" in memory:  # Earlier archives lack it.
        _print_total(metadata, console)


def _pruning_sentence(counts: Mapping[str, int]) -> str:
    """Return a sentence about the channels that were pruned because they do not affect results."""
    sizes = f"{counts['weights_size_bytes_before']} -> {counts['weights_size_bytes']}"
    macs = f"{shortened(counts['macs_before'])} -> {shortened(counts['macs'])}"
    return (
        f"Removed {counts['channels']} channels that are constant or not read: weights {sizes} "
        f"bytes, {macs} MACs (--disabled-pass={PRUNE_CONSTANT_CHANNELS} keeps them)."
    )


def _print_access_cycles(placement: Mapping[str, Any], console: Console) -> None:
    """Print the access cycles of placement by preference and by cost, if they were estimated."""
    if "estimated_access_cycles" not in placement:
        return
    name = "estimated_access_cycles"
    by_preference = placement[f"{name}_by_preference"]
    print_text(
        f"Estimated access cycles: {placement[name]} with placement={shown(placement['policy'])}; "
        f"by preference {'no plan fits' if by_preference is None else by_preference}, "
        f"by cost {placement[f'{name}_by_cost']}, "
        f"lower bound {placement[f'{name}_lower_bound']}.",
        console,
    )


def _place(pool: Mapping[str, Any]) -> str:
    """Return the address, the start and the alignment of a pool as text, if the user set them."""
    first, lines = pool.get("first_byte", 0), pool.get("buffer_alignment_bytes", 0)
    parts = []
    if "address" in pool:
        parts.append(f"offset 0 is at address 0x{pool['address'] + first:x}")
    if first:
        others = pool.get("pool_offset_bytes", 0)
        owned = f", of which {others} belong to others" if others else ""
        parts.append(f"it begins behind {first} bytes of its memory{owned}")
    if lines:
        parts.append(f"buffers start and end at multiples of {lines}")
    return "; ".join(parts)


def _pools(metadata: Mapping[str, Any]) -> TextTable:
    memory = metadata["memory"]
    rows = []
    for pool in sorted(memory["pools"], key=lambda pool: pool["kind"] == "constant"):
        peak, bound = pool["peak_bytes"], pool["lower_bound_bytes"]
        ratio = shown_ratio(peak, bound)
        optimal = "yes" if pool["optimal"] else "unknown"
        rows.append([pool["name"], pool["kind"], str(peak), str(bound), ratio, optimal])
    return TextTable(
        f"Memory of {shown(title_of(metadata))} ({shown(memory['algorithm'])})",
        ("pool", "kind", "peak bytes", "lower bound", "ratio", "optimal"),
        rows,
        numbers=frozenset({2, 3, 4}),
    )


def _entries(mains: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return the table of entries: peak with states, inputs and outputs, and concurrent entries."""
    headings = ["entry", "peak bytes", "inputs and outputs", "state"]
    if any(main["concurrent_with"] for main in mains):
        headings.append("may run at once with")
    rows = [
        [
            main["entry"],
            str(sum(main["peak_bytes"].values())),
            str(main["io_size_bytes"]),
            str(main["state_size_bytes"]),
            ", ".join(map(shown, main["concurrent_with"])),
        ][: len(headings)]
        for main in mains
    ]
    return TextTable("Entries", headings, rows, frozenset({0, 4}), frozenset({1, 2, 3}))


def _state_bytes(pool: Mapping[str, Any]) -> int:
    return sum(buffer["size"] for buffer in pool["buffers"] if buffer["kind"] == "state")


def _operator_at_peak(metadata: Mapping[str, Any], pool: Mapping[str, Any]) -> str:
    """Return the operators of the model at the peak of a pool as text, empty if unknown."""
    place, table = pool.get("peak_operator"), metadata.get("model_operators")
    if place is None or not table:
        return ""
    operator = metadata["operators"][place]
    made_from = [table[index] for index in operator["model_operators"]]
    entry = operator["entry"] if has_several_entries(metadata) else ""
    return titles(made_from, entry, operator.get("label"))


def _live_at_peak(pool: Mapping[str, Any]) -> TextTable:
    live = pool["live_at_peak"]
    by_name = {buffer["name"]: buffer for buffer in pool["buffers"]}
    headings = ["buffer", "offset", "bytes", *(["overwrites"] if _has_overlaps(pool) else [])]
    rows = []
    largest = sorted(live, key=lambda name: (-by_name[name]["size"], name))[:_SHOWN_BUFFERS]
    for name in live:
        if name in largest:
            buffer = by_name[name]
            overwrites = [
                f"{overlap['shared']} of {by_name[other]['size']} bytes of {shown(other)}"
                for other, overlap in buffer["overlaps"].items()
                if other in live
            ]
            row = [name, str(buffer["offset"]), str(buffer["size"]), "\n".join(overwrites)]
            rows.append(row[: len(headings)])
    hidden = [by_name[name]["size"] for name in live if name not in largest]
    if hidden:
        row = [f"{len(hidden)} smaller buffers", "", str(sum(hidden)), ""]
        rows.append(row[: len(headings)])
    title = f"Live at the peak of {shown(pool['name'])}{_in_entries(pool)}"
    return TextTable(
        title,
        headings,
        rows,
        names=frozenset({0, 3}),
        numbers=frozenset({1, 2}),
        several_lines=frozenset({3}),
    )


def _in_entries(pool: Mapping[str, Any]) -> str:
    """Return the entries at the peak as text. They may run at once, or call the same operator."""
    entries = pool.get("entries_at_peak", [])
    if not entries:
        return ""
    if len(entries) > _SHOWN_ENTRIES:
        return f", in {len(entries)} entries"
    return f", in {'entries' if len(entries) > 1 else 'entry'} {', '.join(map(shown, entries))}"


def _has_overlaps(pool: Mapping[str, Any]) -> bool:
    """Return whether a buffer that is live at the peak overlaps another one."""
    live = pool["live_at_peak"]
    return any(
        other in live
        for buffer in pool["buffers"]
        if buffer["name"] in live
        for other in buffer["overlaps"]
    )


def _print_overlap(pool: Mapping[str, Any], console: Console) -> None:
    """Print that live buffers overlap, if they do, and the bytes needed without overlap."""
    peak, pressure = pool["peak_bytes"], pool["memory_pressure_bytes"]
    sentences = []
    live = sum(b["size"] for b in pool["buffers"] if b["name"] in pool["live_at_peak"])
    if _has_overlaps(pool) and live > peak:
        sentences.append(
            f"These {live} bytes fit in {peak}, since they overlap: an operator writes its output "
            "where it has read its input for the last time."
        )
    if pressure > peak:
        sentences.append(
            f"Without overlap (--disabled-pass={OVERLAP_INPUTS_AND_OUTPUTS}) the buffers of the "
            f"pool would need at least {pressure} bytes in this order of operators."
        )
    if sentences:
        # End with an empty line, as tables do.
        print_text("\n".join([*sentences, ""]), console)


def _print_total(metadata: Mapping[str, Any], console: Console) -> None:
    """Print the total RAM, the RAM with inputs and outputs in the workspace, and the constants."""
    memory = metadata["memory"]
    ram = memory["ram"]
    parts = [f"workspace {ram['workspace_size_bytes']}"]
    if ram["state_size_bytes"]:
        parts[0] += f" (state {ram['state_size_bytes']} of it)"
    if ram["io_size_bytes"]:
        parts.append(f"inputs and outputs {ram['io_size_bytes']}{_io_entries(memory)}")
    lines = [f"RAM {ram['size_bytes']} bytes = {' + '.join(parts)}, without the stack."]
    if ram["io_size_bytes"]:
        others = (
            "Inputs and outputs" if rows_sentence(metadata) is None else "Other inputs and outputs"
        )
        text = f"{others} are provided by the application"
        may_be_planned = has_fixed_offsets(metadata)
        if metadata["interface_api"] == "c" and may_be_planned:
            text += "; --workspace-io (tir.usmp.use_workspace_io=1) plans them too"
        if "size_bytes_with_workspace_io" in ram and may_be_planned:
            text += f": RAM {ram['size_bytes_with_workspace_io']} bytes"
        lines.append(f"{text}.")
    lines.append(
        f"Flash: constants {_constants_bytes(memory)} bytes, and the code once it is compiled."
    )
    print_text("\n".join(lines), console)


def _io_entries(memory: Mapping[str, Any]) -> str:
    """Return a note that inputs and outputs are a maximum over entries; empty for one entry."""
    mains = memory["functions"]["main"]
    if len(mains) == 1:
        return ""
    at_once = any(main["concurrent_with"] for main in mains)
    return " (the most of entries that run at once)" if at_once else " (the most of one entry)"


def _constants_bytes(memory: Mapping[str, Any]) -> int:
    """Return the bytes of the constants of all entries, with shared constants counted once."""
    mains = memory["functions"]["main"]
    if len(mains) == 1:
        return int(mains[0]["constants_size_bytes"])
    return sum(pool["size_bytes"] for pool in memory["pools"] if pool["kind"] == "constant")
