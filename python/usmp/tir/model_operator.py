"""Operators of model files, as the spans of what is computed for them.

A `tvm.ir.Span` says where in a source an expression comes from. Here the source is an operator of a
model file: the name of the span's source is its record, as JSON, and the line its index. TVM's
passes keep spans of calls, or join them; structural equality does not see them. The span of the
main function is that of all operators of the file, also of those that nothing is computed for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tvm.ir import SequentialSpan, Span
from tvm.ir.base import SourceName

_PREFIX = "usmp.model_operator:"
_LONGEST_NAME = 1024
"""Characters of a name that are kept: a file could name a tensor by megabytes."""


@dataclass(frozen=True)
class ModelTensor:
    """A tensor of a model file.

    Parameters
    ----------
    name
        as the file has it, its first 1024 characters.
    dtype
        its element type.
    shape
        its extents, outermost first; texts for those that only the run knows.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    def as_json(self) -> dict[str, Any]:
        """All by name."""
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}


@dataclass(frozen=True)
class ModelOperator:
    """An operator of a model file.

    Parameters
    ----------
    index
        its place in the file's order, from 0.
    type
        what the format calls it, as "CONV_2D", "Conv" or "aten.convolution.default".
    inputs
        names of the tensors that it computes from, without constants.
    outputs
        what it gives.
    name
        of the node, if the file names nodes.
    graph
        the subgraph of a TFLite file that it is in.
    """

    index: int
    type: str
    inputs: tuple[str, ...]
    outputs: tuple[ModelTensor, ...]
    name: str = ""
    graph: int = 0

    def as_json(self) -> dict[str, Any]:
        """All by name; what is empty is left out."""
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
        """A span of this source."""
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
    """An operator as a file has it: names are cut to their first 1024 characters.

    Parameters
    ----------
    outputs
        name, element type and extents of each.
    """
    return ModelOperator(
        index,
        type[:_LONGEST_NAME],
        tuple(name[:_LONGEST_NAME] for name in inputs),
        tuple(ModelTensor(n[:_LONGEST_NAME], dtype, tuple(shape)) for n, dtype, shape in outputs),
        name[:_LONGEST_NAME],
        graph,
    )


def operators_in(span: Span | SequentialSpan | None) -> tuple[ModelOperator, ...]:
    """The operators that a span stands for, each once, in the order of the file; none if it is
    about another source."""
    found = {_read(str(one.source_name.name)) for one in single_spans(span)}
    known = [operator for operator in found if operator is not None]
    return tuple(sorted(known, key=lambda operator: (operator.graph, operator.index)))


def is_of_model(span: Span | SequentialSpan | None) -> bool:
    """Whether a span is of an operator of a model file, and not of a script."""
    return any(str(one.source_name.name).startswith(_PREFIX) for one in single_spans(span))


def joined_span(spans: Iterable[Span | SequentialSpan | None]) -> Span | SequentialSpan | None:
    """One span for what was several expressions; None if none of them had one."""
    singles: dict[str, Span] = {}
    for span in spans:
        for one in single_spans(span):
            singles.setdefault(str(one.source_name.name), one)
    if len(singles) < 2:
        return next(iter(singles.values()), None)
    return SequentialSpan(list(singles.values()))


def single_spans(span: Span | SequentialSpan | None) -> Iterator[Span]:
    """The spans that one is joined of."""
    if isinstance(span, SequentialSpan):
        for each in span.spans:
            yield from single_spans(each)
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
