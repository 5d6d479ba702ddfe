"""Records of operators on the elements of tensors that are broadcast together."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.ops.records.base import QuantizedOp, RoundedOp


@dataclass(frozen=True, kw_only=True)
class LimitedOp(QuantizedOp):
    """An operator whose output has limits.

    Parameters
    ----------
    clamp
        least and greatest integer of the output.
    """

    clamp: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class RescaledOp(RoundedOp, LimitedOp):
    """An operator that multiplies by one factor, and whose output has limits."""


class Abs(QuantizedOp, kind="abs"):
    """|x|."""


class Add(LimitedOp, kind="add"):
    """Sum of two tensors."""


class AddN(QuantizedOp, kind="add_n"):
    """Sum of any number of tensors of one quantization."""


class Clamp(LimitedOp, kind="clamp"):
    """x within limits, at the same scale."""


class Dequantize(QuantizedOp, kind="dequantize"):
    """Integers to float32."""


class Divide(LimitedOp, kind="divide"):
    """Quotient of two tensors."""


class Elu(QuantizedOp, kind="elu"):
    """x, or exp(x) - 1 where x is negative."""


class Equal(QuantizedOp, kind="equal"):
    """x == y of two tensors, to bool."""


class Exp(QuantizedOp, kind="exp"):
    """exp(x)."""


class Gelu(QuantizedOp, kind="gelu"):
    """x times the cumulative normal distribution at x."""


class Greater(QuantizedOp, kind="greater"):
    """x > y of two tensors, to bool."""


class GreaterEqual(QuantizedOp, kind="greater_equal"):
    """x >= y of two tensors, to bool."""


class HardSwish(QuantizedOp, kind="hard_swish"):
    """x * relu6(x + 3) / 6."""


@dataclass(frozen=True, kw_only=True)
class LeakyRelu(QuantizedOp, kind="leaky_relu"):
    """x, or alpha * x where x is negative."""

    alpha: float


class Less(QuantizedOp, kind="less"):
    """x < y of two tensors, to bool."""


class LessEqual(QuantizedOp, kind="less_equal"):
    """x <= y of two tensors, to bool."""


class Log(QuantizedOp, kind="log"):
    """Natural logarithm."""


class Logistic(QuantizedOp, kind="logistic"):
    """1 / (1 + exp(-x))."""


class Maximum(QuantizedOp, kind="maximum"):
    """Greater element of two tensors."""


class Minimum(QuantizedOp, kind="minimum"):
    """Lesser element of two tensors."""


class Multiply(RescaledOp, kind="multiply"):
    """Product of two tensors."""


class NotEqual(QuantizedOp, kind="not_equal"):
    """x != y of two tensors, to bool."""


class Prelu(QuantizedOp, kind="prelu"):
    """x, or slope * x where x is negative, a slope for each element or channel."""


class Quantize(QuantizedOp, kind="quantize"):
    """Float32 to integers."""


class Relu(RescaledOp, kind="relu"):
    """x within limits, at another scale."""


class Requantize(RoundedOp, kind="requantize"):
    """x at another scale."""


class RescaleToJoin(QuantizedOp, kind="rescale_to_join"):
    """x at the scale of a concatenation."""


class Rsqrt(QuantizedOp, kind="rsqrt"):
    """1 / sqrt(x)."""


class Sqrt(QuantizedOp, kind="sqrt"):
    """Square root, truncated to an integer."""


class SquaredDifference(LimitedOp, kind="squared_difference"):
    """(x - y)**2 of two tensors."""


class Subtract(LimitedOp, kind="subtract"):
    """Difference of two tensors."""


class Table(QuantizedOp, kind="table"):
    """A function of one 8-bit tensor, by its 256 results."""


class Tanh(QuantizedOp, kind="tanh"):
    """Hyperbolic tangent."""
