"""Short texts about operators of model files, from `model_operators` of metadata.json."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from usmp.support.text.plain_text import shown

_LONGEST = 60
"""Most characters of an operator type, because files may have any text as a type."""

_QUANTIZERS = frozenset(
    {
        *("QUANTIZE", "DEQUANTIZE"),
        *("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"),
        *(f"{de}quantize_per_{part}" for de in ("", "de") for part in ("tensor", "channel")),
    }
)
"""Types, without domain and overload, that only quantize or dequantize: of TFLite, ONNX and
PyTorch."""

_OF_PYTORCH = re.compile(
    r"(?:aten|quantized_decomposed|torchao)\._?(\w+?)(?:_with_indices)?(?:\.\w+)?"
)
"""A type of PyTorch: its library, its name, and its overload."""

Operator: TypeAlias = Mapping[str, Any]


def is_quantizer(type: str) -> bool:
    """Return whether an operator of this type only quantizes or dequantizes. Such an operator names
    a function only if the function computes nothing else."""
    return not _QUANTIZERS.isdisjoint(type.split("."))


def naming(operators: Sequence[Operator]) -> list[Operator]:
    """Return the operators that name the function that computes all of them: those before its
    quantizers, or all if there are only quantizers."""
    computing = [operator for operator in operators if not is_quantizer(operator["type"])]
    return computing or list(operators)


def titles(operators: Sequence[Operator], entry: str = "", label: str | None = None) -> str:
    """Describe the operators that name a function: "operator 1 DEPTHWISE_CONV_2D (25x5x64)".

    Of more than two consecutive operators, the first and the last are named: "operators 0 CONV_2D
    to 9 AVERAGE_POOL_2D (64)". The shape is that of the last output, without a batch of 1.

    Parameters
    ----------
    operators
        entries of `model_operators` of metadata.json.
    entry
        the entry of the operators, if the module has several.
    label
        what the code is that the compiler has inserted for them, such as "copy of x"; it stands
        before them, as in "copy of x (operator 3 CONCAT)".
    """
    named = naming(operators)
    noun = "operator" if len(named) == 1 else "operators"
    where = f" in entry {shown(entry)}" if entry else ""
    title = f"{noun} {title_names(operators)}" if operators else ""
    if label:
        return f"{labeled(label, title)}{where}"
    return f"{title}{_gives(named[-1])}{where}" if operators else ""


def labeled(label: str | None, operators: str) -> str:
    """Return the label of inserted code with the operators that it is for; only one of the two if
    the other is empty."""
    if not label:
        return operators
    return f"{shown(label)} ({operators})" if operators else shown(label)


def title_names(operators: Sequence[Operator]) -> str:
    """List the operators that name a function (see `naming`), as `names` does."""
    return _listed(operators, naming(operators))


def names(operators: Sequence[Operator]) -> str:
    """List operators by index and type, such as "3 CONV_2D, 4 ADD".

    Operators of further subgraphs of a TFLite file follow a semicolon, such as "7 LOGISTIC; 0
    CONV_2D, 1 ADD of subgraph 2".
    """
    return _listed(operators, operators)


def name(operator: Operator) -> str:
    """Return index and type of one operator: "3 CONV_2D", or "3 CONV_2D of subgraph 2"."""
    return names([operator])


def type_counts(operators: Sequence[Operator]) -> str:
    """Count operators by type, the most frequent first: "Shape (16), Dropout (1)"."""
    counts = Counter(_type_name(str(operator["type"])) for operator in operators).most_common()
    return ", ".join(f"{kind} ({count})" for kind, count in counts)


def _listed(operators: Sequence[Operator], named: Sequence[Operator]) -> str:
    """List some of the operators by subgraph; others may lie between the ends of a run."""
    chosen = set(map(_place, named))
    lists = []
    for graph, own in groupby(sorted(operators, key=_place), lambda one: _place(one)[0]):
        words = _runs(list(own), {index for of, index in chosen if of == graph})
        lists += [f"{words}{_of_subgraph(graph)}"] if words else []
    return "; ".join(lists)


def _place(operator: Operator) -> tuple[int, int]:
    return int(operator.get("graph", 0)), operator["index"]


def _of_subgraph(graph: int) -> str:
    return f" of subgraph {graph}" if graph else ""


def _runs(operators: Sequence[Operator], named: Container[int]) -> str:
    runs: list[list[Operator]] = []
    for operator in operators:
        if runs and operator["index"] == runs[-1][-1]["index"] + 1:
            runs[-1].append(operator)
        else:
            runs.append([operator])
    words = []
    for run in ([operator for operator in run if operator["index"] in named] for run in runs):
        if len(run) > 2:
            words.append(f"{_name(run[0])} to {_name(run[-1])}")
        else:
            words += map(_name, run)
    return ", ".join(words)


def shape_words(shape: Sequence[object]) -> str:
    """Return a shape such as "25x5x64", without a batch of 1; "scalar" if it has no extents."""
    extents = list(shape[1:]) if len(shape) > 2 and shape[0] == 1 else list(shape)
    return "x".join(shown(extent) for extent in extents) or "scalar"


def _name(operator: Operator) -> str:
    return f"{operator['index']} {_type_name(operator['type'])}"


def _type_name(type: str) -> str:
    """Return a type as reports show it: "convolution" for PyTorch's "aten.convolution.default"."""
    of_pytorch = _OF_PYTORCH.fullmatch(type)
    return shown(of_pytorch[1] if of_pytorch else type, _LONGEST)


def _gives(operator: Operator) -> str:
    outputs = operator["outputs"]
    # A file may have no types, which is no scalar.
    is_known = bool(outputs) and outputs[0].get("dtype") != "unknown"
    return f" ({shape_words(outputs[0]['shape'])})" if is_known else ""
