"""Operators that nothing is appended for, as a RESHAPE to the same shape or a READ_VARIABLE.

Their spans join those of the operators that read what they give, or that write what they take. An
operator that gives a tensor joins all that read this tensor; one further back joins only the first
that anything is appended for, or a chain of them would be written out for each of its readers.
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
"""What each tensor of a graph is, by its index."""


@dataclass(eq=False)
class FoldedOperator:
    """One that nothing was appended for.

    Parameters
    ----------
    behind
        those that write what it reads, until they join an operator.
    """

    span: AnySpan
    behind: list[FoldedOperator]


@dataclass
class FoldedOperators:
    """Those of one function.

    Parameters
    ----------
    writers
        those that give tensors, by the index of the tensor.
    joining
        what joins the call that a variable is bound to.
    """

    writers: dict[int, FoldedOperator] = field(default_factory=dict)
    joining: dict[Var, list[AnySpan]] = field(default_factory=dict)

    def take(self, tensors: Iterable[TfliteTensor | None]) -> list[AnySpan]:
        """The spans of those that give these tensors, and of those behind them that have not joined
        an operator yet: they are taken to join one."""
        pending, spans = self._writers(tensors), list[AnySpan]()
        while pending:
            operator = pending.pop()
            spans.append(operator.span)
            pending += operator.behind
            operator.behind = []
        return spans

    def add(self, operator: TfliteOperator, span: AnySpan, values: Values) -> None:
        """Note that nothing was appended for an operator, which has this span.

        A handle of a variable stands for no value, and is part of nothing that runs.
        """
        if not operator.outputs:
            self._join([t for t in operator.inputs if t is not None], [span], values)
            return
        folded = FoldedOperator(span, self._writers(operator.inputs))
        for tensor in operator.outputs:
            if tensor.table.Type() != tflite.TensorType.RESOURCE:
                self.writers[tensor.index] = folded

    def end(self, outputs: Iterable[TfliteTensor], values: Values) -> None:
        """Let what is left before the outputs join what writes these."""
        for tensor in outputs:
            if tensor.index in self.writers:
                self._join([tensor], [], values)

    def _writers(self, tensors: Iterable[TfliteTensor | None]) -> list[FoldedOperator]:
        indices = [tensor.index for tensor in tensors if tensor is not None]
        return [self.writers[index] for index in indices if index in self.writers]

    def _join(self, tensors: Iterable[TfliteTensor], spans: list[AnySpan], values: Values) -> None:
        """Let these spans, and what is left before the tensors, join what writes these.

        Nothing writes parameters and constants: what is left before them waits for a reader.
        """
        for tensor in tensors:
            value = values.get(tensor.index)
            if isinstance(value, relax.DataflowVar):
                self.joining.setdefault(value, []).extend([*spans, *self.take([tensor])])

    def give_back(self, function: relax.Function) -> relax.Function:
        """The function; calls that write what these operators take have their spans too."""
        bound = bound_spans(function)
        spans = {v: joined_or(bound[v], *own) for v, own in self.joining.items() if v in bound}
        return function_with_spans(function, spans) if spans else function
