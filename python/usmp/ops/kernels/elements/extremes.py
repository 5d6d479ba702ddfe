"""Kernels of `maximum` and `minimum`, on runs of elements of two int8 tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.only_block import only_block
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.elements.element_runs import ElementRuns
from usmp.ops.kernels.kernel import Kernel
from usmp.ops.kernels.loops.line import Line, element_wise
from usmp.ops.kernels.loops.loops import counted

_LEAST_ELEMENTS = 8
"""The least number of elements of a run: with fewer, plain loops are as fast."""


def extremes_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a maximum or minimum of int8 tensors; None for unsupported operators."""
    block = only_block(call.func)
    extremes = None if block is None else extremes_of(block.body.value)
    if block is None or extremes is None:
        return None
    runs = ElementRuns(block, extremes.terms, extremes.stored, "tvmgen_fill")
    schedule = Schedule(counted(4 if core.has_dsp else 1, "element"))
    return runs.kernel(call, schedule, _LEAST_ELEMENTS)


@dataclass(frozen=True)
class Extremes:
    """The greater of two int8 elements, or the lesser one if `is_least`."""

    terms: tuple[TensorLoad, TensorLoad]
    is_least: bool

    def stored(self, lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
        """Store the greater or lesser elements of two lines."""
        more = [int(self.is_least)]
        return element_wise("tvmgen_extremes", lines, output, count, more, self.chosen)

    def chosen(self, a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
        """Return the greater or lesser of two elements."""
        return tirx.min(a, b) if self.is_least else tirx.max(a, b)


def extremes_of(value: tirx.Expr) -> Extremes | None:
    """Return an expression as a maximum or minimum of two int8 elements; None if it is neither."""
    if not isinstance(value, tirx.Max | tirx.Min):
        return None
    terms = value.a, value.b
    if not all(isinstance(t, TensorLoad) and str(t.ty.dtype) == "int8" for t in terms):
        return None
    return Extremes(terms, isinstance(value, tirx.Min))
