"""The kernels of `maximum` and `minimum`: elements of two int8 tensors that follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.cores import Core
from usmp.objects.schedule import Schedule
from usmp.ops.kernels.call.only_block import only_block
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.elements.element_runs import ElementRuns
from usmp.ops.kernels.kernel import Kernel
from usmp.ops.kernels.loops.line import Line, element_wise
from usmp.ops.kernels.loops.loops import counted

_LEAST_ELEMENTS = 8
"""Of a run: plain loops are as fast for less."""


def extremes_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """The greater or lesser elements of two tensors, some at a time."""
    block = only_block(call.func)
    found = None if block is None else extremes_of(block.body.value)
    if block is None or found is None:
        return None
    runs = ElementRuns(block, found.terms, found.stored, "tvmgen_fill")
    schedule = Schedule(counted(4 if core.has_dsp else 1, "element"))
    return runs.kernel(call, schedule, _LEAST_ELEMENTS)


@dataclass(frozen=True)
class Extremes:
    """The greater of two int8 elements, or if it `is_least` the lesser."""

    terms: tuple[TensorLoad, TensorLoad]
    is_least: bool

    def stored(self, lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
        """Store those of elements that follow each other."""
        more = [int(self.is_least)]
        return element_wise("tvmgen_extremes", lines, output, count, more, self.chosen)

    def chosen(self, a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
        """Return the one of two elements."""
        return tirx.min(a, b) if self.is_least else tirx.max(a, b)


def extremes_of(value: tirx.Expr) -> Extremes | None:
    """What an expression chooses of two int8 elements; None if it is anything else."""
    if not isinstance(value, tirx.Max | tirx.Min):
        return None
    terms = value.a, value.b
    if not all(isinstance(t, TensorLoad) and str(t.ty.dtype) == "int8" for t in terms):
        return None
    return Extremes(terms, isinstance(value, tirx.Min))
