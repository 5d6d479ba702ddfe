"""Functions of one int8 element: requantization, clamps and tables, and chains of them."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.limits import Limits, centered, limits_of
from usmp.ops.kernels.elements.element_runs import Compute
from usmp.ops.kernels.loops.line import Line, element_wise
from usmp.ops.kernels.loops.loops import loop
from usmp.ops.kernels.mve.factor import rescaled_by
from usmp.ops.quantized.rescaling.fixed_point import Rounding, int32
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

_MOST_LEFT = 20
_FIRST = -128
"""The value whose result is the first element of a table."""


def functions_of(value: tirx.Expr, core: Core) -> tuple[tirx.Expr, Compute | None]:
    """Split an int8 expression into an operand and a chain of functions of one element.

    Parameters
    ----------
    value
        the expression.
    core
        the core whose vectors compute the functions.

    Returns
    -------
    tuple
        the int8 operand of the innermost function, and the computation of the whole chain over
        runs; None in its place if there is no function.
    """
    functions: list[Compute] = []
    while (step := _function(value, core)) is not None:
        value, function = step
        functions.append(function)
    return value, chained(functions[::-1]) if functions else None


def _function(value: tirx.Expr, core: Core) -> tuple[tirx.Expr, Compute] | None:
    """Return the operand of the outermost function, and the function; None without a function."""
    step = _from_table(value) or _limited(value, core)
    return None if step is None or step[0].same_as(value) else step


def chained(functions: Sequence[Compute]) -> Compute:
    """Compose functions. All but the first take one element, and are computed in place."""
    first, *others = functions

    def compute(lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
        in_place = [function([output], output, count) for function in others]
        return sequence([first(lines, output, count), *in_place])

    return compute if others else first


def _from_table(value: tirx.Expr) -> tuple[tirx.Expr, Compute] | None:
    if not isinstance(value, TensorLoad) or len(value.indices) != 1:
        return None
    table, index = value.source, centered(value.indices[0])
    is_table = str(table.dtype) == "int8" and [int(e) for e in table.shape] == [256]
    if index is None or index[1] != -_FIRST or not is_table:
        return None

    def compute(lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
        (line,) = lines

        def element(i: tirx.Expr) -> tirx.Stmt:
            return output.store(i, table[line.at(i).astype("int32") - int32(_FIRST)])

        arguments = [line.at(0), table[0], output.at(0), count]
        return tensor_intrin("tvmgen_mve_look_up", arguments, loop("i", count, element))

    return index[0], compute


def _limited(value: tirx.Expr, core: Core) -> tuple[tirx.Expr, Compute] | None:
    """Return the operand and the function of a requantization or a clamp, else None."""
    limited = limits_of(value)
    if limited is None:
        return None
    inner, limits = limited
    if str(inner.ty.dtype) == "int8" and not limits.zero_point:
        return inner, lambda lines, output, count: _clamped(limits, lines, output, count)
    scaled = rescaled_by(inner, core)
    term = None if scaled is None else centered(scaled[0])
    if scaled is None or term is None or not -31 <= scaled[1].shift <= _MOST_LEFT:
        return None
    (element, offset), (_, factor) = term, scaled

    def compute(lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
        def rescaled(element: tirx.Expr) -> tirx.Expr:
            shifted = element.astype("int32") + int32(offset)
            return limits.clamp(factor.times(shifted) + int32(limits.zero_point))

        scale = [offset, *factor.arguments]
        if factor.rounding is Rounding.TWICE:
            left, right = max(factor.shift, 0), max(-factor.shift, 0)
            scale = [offset << left, left, factor.multiplier, right]
        symbol, more = f"tvmgen_mve_requantize{factor.suffix}", [*scale, *limits.arguments]
        return element_wise(symbol, lines, output, count, more, rescaled)

    return element, compute


def _clamped(limits: Limits, lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
    """Clamp elements by the function for maxima, over a window of one tap."""
    (line,) = lines

    def store(i: tirx.Expr) -> tirx.Stmt:
        return output.store(i, limits.clamp(line.at(i).astype("int32")))

    arguments = [line.at(0), output.at(0), 1, 1, 0, count, limits.low, limits.high]
    return tensor_intrin("tvmgen_mve_max_pool", arguments, loop("i", count, store))
