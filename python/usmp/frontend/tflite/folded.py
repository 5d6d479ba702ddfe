"""Folded operators: those that append nothing to the function, such as a RESHAPE to the same shape.

Their spans are added to the call of a reader, or else to the call that computes their input, so
that reports still show them. The folded writer of a tensor is added to all readers of the tensor.
Folded operators further back are added only to the first reader that appends a call, because
otherwise a chain of them would be repeated for each of its readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import tflite
from tvm import relax
from tvm.ir import Var

from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.tir.spans import AnySpan, bound_spans, function_with_spans, joined_or

Values = Mapping[int, relax.Expr]
"""The Relax expression of each tensor of a graph, by its index."""


@dataclass(eq=False)
class FoldedOperator:
    """An operator for which nothing was appended.

    Parameters
    ----------
    behind
        the folded writers of its inputs whose spans are not yet added to a call.
    """

    span: AnySpan
    behind: list[FoldedOperator]


@dataclass
class FoldedOperators:
    """The folded operators of one function.

    Parameters
    ----------
    writers
        the folded operators, by the index of the tensors that they write.
    joining
        for each variable, the spans to add to the call that it is bound to.
    """

    writers: dict[int, FoldedOperator] = field(default_factory=dict)
    joining: dict[Var, list[AnySpan]] = field(default_factory=dict)

    def take(self, tensors: Iterable[TfliteTensor | None]) -> list[AnySpan]:
        """Return the spans of the folded writers of these tensors and of the operators behind the
        writers. Those behind are removed, because their spans are added to only one call."""
        pending, spans = self._writers(tensors), list[AnySpan]()
        while pending:
            operator = pending.pop()
            spans.append(operator.span)
            pending += operator.behind
            operator.behind = []
        return spans

    def add(self, operator: TfliteOperator, span: AnySpan, values: Values) -> None:
        """Record an operator for which nothing was appended, with its span.

        A VAR_HANDLE is not recorded, because its output has no value in the function.
        """
        if not operator.outputs:
            self._join([t for t in operator.inputs if t is not None], [span], values)
            return
        folded = FoldedOperator(span, self._writers(operator.inputs))
        for tensor in operator.outputs:
            if tensor.table.Type() != tflite.TensorType.RESOURCE:
                self.writers[tensor.index] = folded

    def end(self, outputs: Iterable[TfliteTensor], values: Values) -> None:
        """Add the spans of folded writers of the graph's outputs to the calls that compute them."""
        for tensor in outputs:
            if tensor.index in self.writers:
                self._join([tensor], [], values)

    def _writers(self, tensors: Iterable[TfliteTensor | None]) -> list[FoldedOperator]:
        indices = [tensor.index for tensor in tensors if tensor is not None]
        return [self.writers[index] for index in indices if index in self.writers]

    def _join(self, tensors: Iterable[TfliteTensor], spans: list[AnySpan], values: Values) -> None:
        """Add `spans`, and those of the tensors' folded writers, to the calls that compute them.

        No call computes a parameter or a constant: folded operators after them wait for a reader.
        """
        for tensor in tensors:
            value = values.get(tensor.index)
            if isinstance(value, relax.DataflowVar):
                self.joining.setdefault(value, []).extend([*spans, *self.take([tensor])])

    def give_back(self, function: relax.Function) -> relax.Function:
        """Return the function, with the spans of folded operators added to its calls."""
        bound = bound_spans(function)
        spans = {v: joined_or(bound[v], *own) for v, own in self.joining.items() if v in bound}
        return function_with_spans(function, spans) if spans else function
