"""Short texts about operators of model files, from `model_operators` of metadata.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from usmp.support.text.plain_text import shown

_LONGEST = 60
"""Most characters of an operator type, because files may have any text as a type."""


def titles(
    operators: Sequence[Mapping[str, Any]], entry: str = "", label: str | None = None
) -> str:
    """Describe operators, such as "operator 1 DEPTHWISE_CONV_2D (25x5x64)".

    Of more than two consecutive operators, the first and the last are named: "operators 0 CONV_2D
    to 9 AVERAGE_POOL_2D (64)". The shape is that of the last output, without a batch of 1.

    Parameters
    ----------
    operators
        entries of `model_operators` of metadata.json, in the order of the file.
    entry
        the entry of the operators, if the module has several.
    label
        what the code is that the compiler has inserted for them, such as "copy of x"; it stands
        before them, as in "copy of x (operator 3 CONCAT)".
    """
    noun = "operator" if len(operators) == 1 else "operators"
    where = f" in entry {shown(entry)}" if entry else ""
    title = f"{noun} {names(operators)}" if operators else ""
    if label:
        return f"{labeled(label, title)}{where}"
    return f"{title}{_gives(operators[-1])}{where}" if operators else ""


def labeled(label: str | None, operators: str) -> str:
    """Return the label of inserted code with the operators that it is for; only one of the two if
    the other is empty."""
    if not label:
        return operators
    return f"{shown(label)} ({operators})" if operators else shown(label)


def names(operators: Sequence[Mapping[str, Any]]) -> str:
    """List operators by index and type, such as "3 CONV_2D, 4 ADD".

    Operators of further subgraphs of a TFLite file follow a semicolon, such as "7 LOGISTIC; 0
    CONV_2D, 1 ADD of subgraph 2".
    """
    return "; ".join(
        f"{_runs(list(own))}{_of_subgraph(graph)}"
        for graph, own in groupby(operators, lambda operator: int(operator.get("graph", 0)))
    )


def name(operator: Mapping[str, Any]) -> str:
    """Return index and type of one operator: "3 CONV_2D", or "3 CONV_2D of subgraph 2"."""
    return names([operator])


def type_counts(operators: Sequence[Mapping[str, Any]]) -> str:
    """Count operators by type, the most frequent first: "Shape (16), Dropout (1)"."""
    counts = Counter(str(operator["type"]) for operator in operators).most_common()
    return ", ".join(f"{shown(kind, _LONGEST)} ({count})" for kind, count in counts)


def _of_subgraph(graph: int) -> str:
    return f" of subgraph {graph}" if graph else ""


def _runs(operators: Sequence[Mapping[str, Any]]) -> str:
    runs: list[list[Mapping[str, Any]]] = []
    for operator in operators:
        if runs and operator["index"] == runs[-1][-1]["index"] + 1:
            runs[-1].append(operator)
        else:
            runs.append([operator])
    words = []
    for run in runs:
        if len(run) > 2:
            words.append(f"{_name(run[0])} to {_name(run[-1])}")
        else:
            words += map(_name, run)
    return ", ".join(words)


def shape_words(shape: Sequence[object]) -> str:
    """Return a shape such as "25x5x64", without a batch of 1; "scalar" if it has no extents."""
    extents = list(shape[1:]) if len(shape) > 2 and shape[0] == 1 else list(shape)
    return "x".join(shown(extent) for extent in extents) or "scalar"


def _name(operator: Mapping[str, Any]) -> str:
    return f"{operator['index']} {shown(operator['type'], _LONGEST)}"


def _gives(operator: Mapping[str, Any]) -> str:
    outputs = operator["outputs"]
    return f" ({shape_words(outputs[0]['shape'])})" if outputs else ""
