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
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.loops.loops import counted, loop
from usmp.tir.tensor_intrin import tensor_intrin

_LEAST_ELEMENTS = 8
"""Of a run: plain loops are as fast for less."""


def extremes_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """The greater or lesser elements of two tensors, some at a time."""
    block = only_block(call.func)
    found = None if block is None else extremes_of(block.body.value)
    if block is None or found is None:
        return None
    runs = ElementRuns(block, found.terms, found.stored, "tvmgen_fill")
    if runs.elements < _LEAST_ELEMENTS:
        return None
    schedule = Schedule(counted(4 if core.has_dsp else 1, "element"))
    by_rows = runs.by_rows(_LEAST_ELEMENTS)
    rows = None if by_rows is None else TiledBody(by_rows.stmt(), schedule)
    return kernel(call, [TiledBody(runs.stmt(), schedule)], {}, rows)


@dataclass(frozen=True)
class Extremes:
    """The greater of two int8 elements, or if it `is_least` the lesser."""

    terms: tuple[TensorLoad, TensorLoad]
    is_least: bool

    def stored(self, lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
        """Store those of elements that follow each other."""
        arguments = [*(line.at(0) for line in lines), output.at(0), count, int(self.is_least)]
        return tensor_intrin("tvmgen_extremes", arguments, self.loop(lines, output, count))

    def loop(self, lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
        """The same as a loop."""
        choose = tirx.min if self.is_least else tirx.max

        def element(i: tirx.Expr) -> tirx.Stmt:
            return output.store(i, choose(*(line.at(i) for line in lines)))

        return loop("i", count, element)


def extremes_of(value: tirx.Expr) -> Extremes | None:
    """What an expression chooses of two int8 elements; None if it is anything else."""
    if not isinstance(value, tirx.Max | tirx.Min):
        return None
    terms = value.a, value.b
    if not all(isinstance(t, TensorLoad) and str(t.ty.dtype) == "int8" for t in terms):
        return None
    return Extremes(terms, isinstance(value, tirx.Min))
