"""Int8 expressions as an inner expression, an added zero point and a clamp."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx

_INT8 = (-128, 127)
_MOST_OFFSET = 128


@dataclass(frozen=True)
class Limits:
    """A zero point to add, and the limits to which the sum is clamped.

    Parameters
    ----------
    zero_point, low, high
        integers in the range of int8.
    """

    zero_point: int
    low: int
    high: int

    @property
    def rounds_up(self) -> bool:
        """Whether halves below zero may be rounded either way, because all of them are clamped."""
        return self.low >= self.zero_point

    @property
    def suffix(self) -> str:
        """The suffix of the C functions that round as `rounds_up` says."""
        return "_up" if self.rounds_up else ""

    @property
    def arguments(self) -> list[int]:
        """The fields, in the order in which C functions take them."""
        return [self.zero_point, self.low, self.high]

    def clamp(self, value: tirx.Expr) -> tirx.Expr:
        """Return an int32 value clamped to the limits, as int8."""
        low, high = (tirx.IntImm("int32", limit) for limit in (self.low, self.high))
        return tirx.min(tirx.max(value, low), high).astype("int8")


def split_constant(value: tirx.Expr) -> tuple[tirx.Expr, int]:
    """Split `inner + constant` or `inner - constant` into the inner expression and the summand."""
    if not isinstance(value, tirx.Add | tirx.Sub) or not isinstance(value.b, tirx.IntImm):
        return value, 0
    return value.a, int(value.b) if isinstance(value, tirx.Add) else -int(value.b)


def centered(value: tirx.Expr) -> tuple[tirx.Expr, int] | None:
    """Split a value into an int8 expression and an offset from -128 to 128; None if it has no such
    form."""
    inner, offset = split_constant(value)
    if not isinstance(inner, tirx.Cast) or abs(offset) > _MOST_OFFSET:
        return None
    return (inner.value, offset) if str(inner.value.ty.dtype) == "int8" else None


def limits_of(value: tirx.Expr) -> tuple[tirx.Expr, Limits] | None:
    """Split an int8 value into an inner expression and `Limits`; None if the limits or the zero
    point may exceed int8, or a cast may change the clamped sum."""
    inner, added, low, high = _limited(value)
    limits = (added, max(low, _INT8[0]), min(high, _INT8[1]))
    if inner is None or low < _INT8[0] or high > _INT8[1]:
        return None
    is_int8 = all(_INT8[0] <= number <= _INT8[1] for number in limits) and low <= high
    return (inner, Limits(*limits)) if is_int8 else None


def _limited(value: tirx.Expr) -> tuple[tirx.Expr | None, int, int, int]:
    """Return the inner expression, the summand and the limits of the sum. The inner expression is
    None if a cast may change its operand's value."""
    if isinstance(value, tirx.Cast):
        inner, added, low, high = _limited(value.value)
        # A cast to an unsigned type changes negative values.
        dtype, is_int8 = str(value.ty.dtype), low >= _INT8[0] and high <= _INT8[1]
        is_kept = dtype == "int32" or (is_int8 and not dtype.startswith("uint"))
        return inner if is_kept else None, added, low, high
    if isinstance(value, tirx.Max | tirx.Min) and isinstance(value.b, tirx.IntImm):
        choose = max if isinstance(value, tirx.Max) else min
        inner, added, low, high = _limited(value.a)
        limit = int(value.b)
        return inner, added, choose(low, limit), choose(high, limit)
    is_wide = str(value.ty.dtype) in ("int32", "int64")
    shifted, step = split_constant(value)
    if shifted is not value and is_wide:
        inner, added, low, high = _limited(shifted)
        return inner, added + step, low + step, high + step
    return value, 0, *(_INT8 if str(value.ty.dtype) == "int8" else (-(2**40), 2**40))
