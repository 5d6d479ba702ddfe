"""Operators that nothing is appended for, as a RESHAPE to the same shape or a READ_VARIABLE.

Their spans join those of the operators that read what they give, or that write what they take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import tflite
from tvm import relax
from tvm.ir import Var

from usmp.frontend.tflite.model import TfliteOperator, TfliteTensor
from usmp.tir.spans import AnySpan, bound_spans, function_with_spans, joined_or

Values = Mapping[int, relax.Expr]
"""What each tensor of a graph is, by its index."""


@dataclass
class FoldedOperators:
    """Those of one function.

    Parameters
    ----------
    read
        what belongs to the readers of a tensor, by its index.
    written
        what belongs to the call that a variable is bound to.
    """

    read: dict[int, AnySpan] = field(default_factory=dict)
    written: dict[Var, list[AnySpan]] = field(default_factory=dict)

    def span(self, operator: TfliteOperator, own: AnySpan) -> AnySpan:
        """The span of what is appended for an operator, with those of what it reads."""
        indices = [tensor.index for tensor in operator.inputs if tensor is not None]
        return joined_or(own, *(self.read[i] for i in indices if i in self.read))

    def add(self, operator: TfliteOperator, span: AnySpan, values: Values) -> None:
        """Note that nothing was appended for an operator, of which `span` is what `span` gave.

        A handle of a variable stands for no value, and is part of nothing that runs.
        """
        for tensor in operator.outputs:
            if tensor.table.Type() != tflite.TensorType.RESOURCE:
                self.read[tensor.index] = span
        if not operator.outputs:
            self._give([t for t in operator.inputs if t is not None], span, values)

    def end(self, outputs: Iterable[TfliteTensor], values: Values) -> None:
        """Let what is left before the outputs belong to what writes these."""
        for tensor in outputs:
            if tensor.index in self.read:
                self._give([tensor], self.read[tensor.index], values)

    def _give(self, tensors: Iterable[TfliteTensor], span: AnySpan, values: Values) -> None:
        for tensor in tensors:
            value = values.get(tensor.index)
            if isinstance(value, Var):
                self.written.setdefault(value, []).append(span)

    def give_back(self, function: relax.Function) -> relax.Function:
        """The function; calls that write what these operators take have their spans too."""
        bound = bound_spans(function)
        spans = {v: joined_or(bound[v], *own) for v, own in self.written.items() if v in bound}
        return function_with_spans(function, spans) if spans else function
