"""Operators that append nothing to the function, such as a RESHAPE to the same shape.

Their spans join those of their readers, or of the operators that write their inputs. The writer of
a tensor joins all readers of this tensor. Operators further back join only the first reader that
appends a call, because otherwise a chain of them would be repeated for each of its readers.
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
        the folded operators that write its inputs, until they join an operator.
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
        the spans to add to the call that a variable is bound to.
    """

    writers: dict[int, FoldedOperator] = field(default_factory=dict)
    joining: dict[Var, list[AnySpan]] = field(default_factory=dict)

    def take(self, tensors: Iterable[TfliteTensor | None]) -> list[AnySpan]:
        """Return the spans of the folded writers of these tensors, and remove and return the spans
        of the operators behind them, because these join only one operator."""
        pending, spans = self._writers(tensors), list[AnySpan]()
        while pending:
            operator = pending.pop()
            spans.append(operator.span)
            pending += operator.behind
            operator.behind = []
        return spans

    def add(self, operator: TfliteOperator, span: AnySpan, values: Values) -> None:
        """Record an operator for which nothing was appended, with its span.

        A handle of a variable has no value, and takes no part in a run.
        """
        if not operator.outputs:
            self._join([t for t in operator.inputs if t is not None], [span], values)
            return
        folded = FoldedOperator(span, self._writers(operator.inputs))
        for tensor in operator.outputs:
            if tensor.table.Type() != tflite.TensorType.RESOURCE:
                self.writers[tensor.index] = folded

    def end(self, outputs: Iterable[TfliteTensor], values: Values) -> None:
        """Join the folded operators before the outputs to the writers of the outputs."""
        for tensor in outputs:
            if tensor.index in self.writers:
                self._join([tensor], [], values)

    def _writers(self, tensors: Iterable[TfliteTensor | None]) -> list[FoldedOperator]:
        indices = [tensor.index for tensor in tensors if tensor is not None]
        return [self.writers[index] for index in indices if index in self.writers]

    def _join(self, tensors: Iterable[TfliteTensor], spans: list[AnySpan], values: Values) -> None:
        """Join spans, and the folded operators before the tensors, to the writers of the tensors.

        Nothing writes parameters and constants: folded operators after them wait for a reader.
        """
        for tensor in tensors:
            value = values.get(tensor.index)
            if isinstance(value, relax.DataflowVar):
                self.joining.setdefault(value, []).extend([*spans, *self.take([tensor])])

    def give_back(self, function: relax.Function) -> relax.Function:
        """Return the function, with the spans of folded operators at the calls that they join."""
        bound = bound_spans(function)
        spans = {v: joined_or(bound[v], *own) for v, own in self.joining.items() if v in bound}
        return function_with_spans(function, spans) if spans else function
