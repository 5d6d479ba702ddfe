"""Operators of model files, as spans of expressions.

A `tvm.ir.Span` is a position in a source. Here the source is an operator of a model file: its name
is the operator as JSON, and the line is its index. TVM's passes keep or join the spans of calls,
and structural equality ignores them. The span of the main function joins all operators of the file,
including those without any computation. Code that no operator of the file asks for, such as a copy,
has a span with a label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tvm.ir import SequentialSpan, Span
from tvm.ir.base import SourceName

_PREFIX = "usmp.model_operator:"
_LABEL_PREFIX = "usmp.label:"
_LONGEST_NAME = 1024
"""Most characters of a name, because a file may have names of megabytes."""


@dataclass(frozen=True)
class ModelTensor:
    """A tensor of a model file.

    Parameters
    ----------
    name
        name in the file, cut to 1024 characters.
    dtype
        element type.
    shape
        extents, outermost first; a string for an extent that is known only at run time.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}


@dataclass(frozen=True)
class ModelOperator:
    """An operator of a model file.

    Parameters
    ----------
    index
        index in the order of the file, from 0.
    type
        operator type in the format, such as "CONV_2D", "Conv" or "aten.convolution.default".
    inputs
        names of the input tensors, without constants.
    outputs
        the output tensors.
    name
        name of the node, if the file names nodes.
    graph
        index of the subgraph of a TFLite file.
    """

    index: int
    type: str
    inputs: tuple[str, ...]
    outputs: tuple[ModelTensor, ...]
    name: str = ""
    graph: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return all fields by name, without an empty name and graph 0."""
        known: dict[str, Any] = {"index": self.index, "type": self.type}
        if self.name:
            known["name"] = self.name
        if self.graph:
            known["graph"] = self.graph
        return {
            **known,
            "inputs": list(self.inputs),
            "outputs": [tensor.as_json() for tensor in self.outputs],
        }

    def as_span(self) -> Span:
        """Return a span with this operator as its source."""
        record = json.dumps(self.as_json(), separators=(",", ":"))
        return Span(SourceName(f"{_PREFIX}{record}"), self.index, self.index, 0, 0)


def model_operator(
    index: int,
    type: str,
    inputs: Iterable[str],
    outputs: Iterable[tuple[str, str, Sequence[int | str]]],
    name: str = "",
    graph: int = 0,
) -> ModelOperator:
    """Return an operator whose names are cut to 1024 characters; `outputs` are name, element type
    and extents of each tensor."""
    return ModelOperator(
        index,
        type[:_LONGEST_NAME],
        tuple(name[:_LONGEST_NAME] for name in inputs),
        tuple(ModelTensor(n[:_LONGEST_NAME], dtype, tuple(shape)) for n, dtype, shape in outputs),
        name[:_LONGEST_NAME],
        graph,
    )


def operators_in(span: Span | SequentialSpan | None) -> tuple[ModelOperator, ...]:
    """Return the operators of a span, each once, in the order of the file; none for other spans."""
    operators = {_read(str(single.source_name.name)) for single in single_spans(span)}
    known = [operator for operator in operators if operator is not None]
    return tuple(sorted(known, key=lambda operator: (operator.graph, operator.index)))


def result_names(span: Span | SequentialSpan | None, count: int = 1) -> list[str]:
    """Return the names in the model file of the `count` results of a call, or [] if they are
    unknown.

    TensorFlow joins the names of fused operators by ";". Only the last one is returned, because the
    others may belong to equal constants anywhere in the model.
    """
    operators = operators_in(span)
    full = [tensor.name for tensor in operators[-1].outputs[:count]] if operators else []
    names = [name.rpartition(";")[2] or name for name in full]
    return names if len(names) == count and all(names) else []


def label_span(label: str) -> Span:
    """Return a span that labels code that the compiler inserts."""
    return Span(SourceName(f"{_LABEL_PREFIX}{label}"), 0, 0, 0, 0)


def label_in(span: Span | SequentialSpan | None) -> str:
    """Return the label of a span, or "" if it has none."""
    sources = (str(single.source_name.name) for single in single_spans(span))
    return next((s.removeprefix(_LABEL_PREFIX) for s in sources if s.startswith(_LABEL_PREFIX)), "")


def is_of_model(span: Span | SequentialSpan | None) -> bool:
    """Return whether a span is an operator of a model file, and not a position in a script."""
    return any(str(single.source_name.name).startswith(_PREFIX) for single in single_spans(span))


def joined_span(spans: Iterable[Span | SequentialSpan | None]) -> Span | SequentialSpan | None:
    """Return one span that joins several, each once; None if there are none."""
    singles: dict[str, Span] = {}
    for span in spans:
        for single in single_spans(span):
            singles.setdefault(str(single.source_name.name), single)
    if len(singles) < 2:
        return next(iter(singles.values()), None)
    return SequentialSpan(list(singles.values()))


def single_spans(span: Span | SequentialSpan | None) -> Iterator[Span]:
    """Yield the single spans of a span that may be joined."""
    if isinstance(span, SequentialSpan):
        for part in span.spans:
            yield from single_spans(part)
    elif span is not None:
        yield span


def _read(source: str) -> ModelOperator | None:
    if not source.startswith(_PREFIX):
        return None
    record = json.loads(source.removeprefix(_PREFIX))
    outputs = (
        ModelTensor(tensor["name"], tensor["dtype"], tuple(tensor["shape"]))
        for tensor in record["outputs"]
    )
    return ModelOperator(
        record["index"],
        record["type"],
        tuple(record["inputs"]),
        tuple(outputs),
        record.get("name", ""),
        record.get("graph", 0),
    )
