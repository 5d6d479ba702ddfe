"""The operators of a compiled model as a table, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Console

from usmp.report.plan_formats import has_several_entries, name_cell
from usmp.report.text_tables import TextTable, print_table, print_text, total_cell
from usmp.report.title import title_of
from usmp.support.model_operators import (
    labeled,
    name,
    names,
    naming,
    shape_words,
    type_counts,
)
from usmp.support.text.plain_text import shown
from usmp.support.text.wrapped_text import TIE

SCHEMA, SCHEMA_VERSION = "usmp.operators", 1

_MOST_NAMED = 12
"""Most operators that a sentence names one by one."""

CSV_COLUMNS = (
    "operator",
    "entry",
    "model_operators",
    "functions",
    "inputs",
    "outputs",
    "shapes",
    "macs",
    "weight_bytes",
    "live_bytes",
    "start",
    "stop",
    "read",
    "written",
    "accelerators",
)
"""Columns, with a row for each statement. `model_operators` are its operators in the model file, as
"0 CONV_2D; 3 ADD". `inputs` and `outputs` are tensors of the file that come from or go to other
statements. `shapes` are those of the outputs. `live_bytes` has each workspace pool, as "sram:4096".
`start` and `stop` are program positions (half-open). `read` and `written` are buffers.
`accelerators` are the accelerators that run the statement; empty for the CPU."""

_CPU = "c"
"""The target beside accelerators, which only C can call."""


def print_operators(metadata: Mapping[str, Any], console: Console | None = None) -> None:
    """Print a row for each statement that runs operators, from the metadata of a module.

    A row names the operators of the statement in the model file, quantizers last, or the kinds of
    its operators if these are unknown. A star marks the peak of a workspace pool. If accelerators
    run operators, a column names the target of each row.

    Raises
    ------
    ValueError
        the metadata has no operators.
    """
    console = console or Console(highlight=False)
    peaks = {pool.get("peak_operator") for pool in metadata["memory"]["pools"]}
    print_table(_table(metadata, peaks), console)
    if peaks - {None}:
        print_text(
            "* the peak of a pool. Weights and live bytes are bytes. Live bytes are sums of sizes: "
            "less memory is needed where outputs lie over inputs that die.",
            console,
        )
    for sentence in _not_computed(metadata):
        print_text(sentence, console)


def _not_computed(metadata: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each entry about the operators of the model file that no statement
    runs, because they were computed at compile time or removed."""
    table, several = metadata.get("model_operators", []), has_several_entries(metadata)
    runs = {n for operator in metadata["operators"] for n in operator.get("model_operators", ())}
    remaining: dict[str, list[Mapping[str, Any]]] = {}
    for place, operator in enumerate(table):
        if place not in runs:
            remaining.setdefault(operator["entry"], []).append(operator)
    return [
        f"Not computed at run time{f' in entry {shown(entry)}' if several else ''}: {_listed(ops)}."
        for entry, ops in remaining.items()
    ]


def _listed(operators: Sequence[Mapping[str, Any]]) -> str:
    """Return the names of operators, or the number of each type if there are many."""
    if len(operators) <= _MOST_NAMED:
        return names(operators)
    return f"{len(operators)} operators, {type_counts(operators)}; --format json lists them"


def _table(metadata: Mapping[str, Any], peaks: Collection[int | None]) -> TextTable:
    operators = _operators(metadata)
    entry = ["entry"] if has_several_entries(metadata) else []
    runs_on = ["runs on"] if any(map(_accelerators, operators)) else []
    totals = [
        total_cell([operator.get(key) for operator in operators])
        for key in ("macs", "weights_size_bytes")
    ]
    rows = []
    for index, operator in enumerate(operators):
        live = operator.get("live_bytes")
        total_live = "?" if live is None else f"{sum(live.values())}"
        rows.append(
            [
                str(index),
                *(operator[key] for key in entry),
                "\n".join(map(_tied, _lines(metadata, operator))),
                *(", ".join(_accelerators(operator)) or _CPU for _ in runs_on),
                ", ".join(shape_words(tensor["shape"]) for tensor in operator["outputs"]),
                _number(operator.get("macs")),
                _number(operator.get("weights_size_bytes")),
                f"{total_live}{'*' if index in peaks else ' '}",
            ]
        )
    made_from = 1 + len(entry)
    gives = made_from + len(runs_on) + 1
    return TextTable(
        "",
        (
            *("", *entry, "operator of the model", *runs_on),
            *("gives", "MACs", "weights", "live bytes"),
        ),
        rows,
        names=frozenset(range(1, gives + 1)),
        numbers=frozenset({0, *range(gives + 1, gives + 4)}),
        footer=("", *("" for _ in entry), "all", *("" for _ in runs_on), "", *totals, ""),
        several_lines=frozenset({made_from}),
    )


def _operators(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "operators" not in metadata:
        raise ValueError(
            f"{shown(title_of(metadata))}: the plan does not say which operators it is about; "
            "plan or compile the model file again"
        )
    return list(metadata["operators"])


def _accelerators(operator: Mapping[str, Any]) -> list[str]:
    """Return the names of the accelerators that run a statement; none for the CPU."""
    return list(operator.get("accelerators", ()))


def _tied(text: str) -> str:
    """Return the text with a `TIE` after each index, so that no line breaks there."""
    return re.sub(r"(?:^|(?<=[,;] ))(\d+) ", rf"\1{TIE}", shown(text))


def operators_json(metadata: Mapping[str, Any]) -> str:
    """Return the operators that run, and those of the model file, as in metadata.json.

    Raises
    ------
    ValueError
        the metadata has no operators.
    """
    document = {
        "schema": SCHEMA,
        "version": SCHEMA_VERSION,
        "model_operators": metadata.get("model_operators", []),
        "operators": _operators(metadata),
    }
    return json.dumps(document, indent=2) + "\n"


def operators_csv(metadata: Mapping[str, Any]) -> str:
    """Return CSV with a header, and a row for each statement that runs operators.

    Raises
    ------
    ValueError
        the metadata has no operators.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for index, operator in enumerate(_operators(metadata)):
        writer.writerow(_row(metadata, index, operator))
    return text.getvalue()


def model_operators_of(
    metadata: Mapping[str, Any], operator: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Return the operators of a statement in the model file, or none if they are unknown."""
    table = metadata.get("model_operators", [])
    return [table[place] for place in operator.get("model_operators", [])]


def _made_from(metadata: Mapping[str, Any], operator: Mapping[str, Any]) -> list[str]:
    known = model_operators_of(metadata, operator)
    if operator.get("label"):
        return [labeled(operator["label"], names(known))]
    if known:
        return [name(origin) for origin in known]
    return [step["kind"] for step in operator["steps"]]


def _lines(metadata: Mapping[str, Any], operator: Mapping[str, Any]) -> list[str]:
    """Return a line for each operator that names a statement, then one for each type of others."""
    known = model_operators_of(metadata, operator)
    if not known or operator.get("label"):
        return _made_from(metadata, operator)
    named = naming(known)
    others: dict[str, list[str]] = {}
    for other in known:
        if other not in named:
            index, kind = name(other).split(" ", 1)
            others.setdefault(kind, []).append(index)
    return [*map(name, named), *(f"{', '.join(own)} {kind}" for kind, own in others.items())]


def _row(metadata: Mapping[str, Any], index: int, operator: Mapping[str, Any]) -> list[Any]:
    known = model_operators_of(metadata, operator)
    inside = {tensor["name"] for origin in known for tensor in origin["outputs"]}
    read = {name for origin in known for name in origin["inputs"]}
    inputs = dict.fromkeys(n for origin in known for n in origin["inputs"] if n not in inside)
    outputs = [t["name"] for origin in known for t in origin["outputs"] if t["name"] not in read]
    buffers = operator.get("buffers", {"read": [], "written": []})
    live = operator.get("live_bytes", {})
    return [
        index,
        name_cell(operator["entry"]),
        name_cell("; ".join(_made_from(metadata, operator))),
        name_cell(" ".join(operator["functions"])),
        name_cell(" ".join(inputs)),
        name_cell(" ".join(outputs)),
        name_cell(" ".join(shape_words(tensor["shape"]) for tensor in operator["outputs"])),
        _number(operator.get("macs")),
        _number(operator.get("weights_size_bytes")),
        name_cell(" ".join(f"{pool}:{count}" for pool, count in live.items())),
        _number(operator.get("start")),
        _number(operator.get("stop")),
        _names(buffers["read"]),
        _names(buffers["written"]),
        _names(_accelerators(operator)),
    ]


def _names(names: Sequence[str]) -> str:
    return name_cell(" ".join(names))


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
