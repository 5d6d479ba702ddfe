"""Operands and operators in C: parentheses and conversions.

C promotes narrow operands to `int`, and a small constant is an `int`. An `int` has 32 bits on most
machines and 16 on some, so an operand is converted where TIR computes in more bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from usmp.codegen.c.types import c_type


class Level(IntEnum):
    """The precedence of an expression's outermost operator; a larger one binds less tightly."""

    ATOM = 0
    UNARY = 1
    MULTIPLY = 2
    ADD = 3
    SHIFT = 4
    COMPARE = 5
    EQUAL = 6
    BIT_AND = 7
    BIT_XOR = 8
    BIT_OR = 9
    AND = 10
    OR = 11
    CONDITIONAL = 12


_OPERAND_LIMIT = {
    Level.MULTIPLY: Level.UNARY,
    Level.ADD: Level.MULTIPLY,
    Level.SHIFT: Level.UNARY,
    Level.COMPARE: Level.ADD,
    Level.EQUAL: Level.ADD,
    Level.BIT_AND: Level.UNARY,
    Level.BIT_XOR: Level.UNARY,
    Level.BIT_OR: Level.UNARY,
    Level.AND: Level.EQUAL,
    Level.OR: Level.EQUAL,
}
"""Largest level of an operand without parentheses; stricter than C where gcc warns."""
_CHAINS = (
    Level.MULTIPLY,
    Level.ADD,
    Level.BIT_AND,
    Level.BIT_XOR,
    Level.BIT_OR,
    Level.AND,
    Level.OR,
)
"""Left-associative operators: a - b + c needs no parentheses."""
_BITWISE = ("&", "^", "|")
_INT_BITS = 16
"""The fewest bits of an `int` that C allows."""


@dataclass(frozen=True)
class Operand:
    """An expression in C.

    Parameters
    ----------
    text
        the text of the expression.
    level
        the precedence of its outermost operator.
    most
        its greatest magnitude, if it has 32 bits in TIR but may be an `int` or `unsigned` of 16
        bits in C; otherwise None.
    """

    text: str
    level: Level = Level.ATOM
    most: int | None = None

    def inside(self, limit: Level) -> str:
        """Return the text, in parentheses if it binds more loosely than `limit`."""
        return self.text if self.level <= limit else f"({self.text})"


def constant(text: str, value: int, dtype: str) -> Operand:
    """Return the operand of an integer constant of TIR type `dtype` with the literal `text`."""
    bits = {"int32": _INT_BITS - 1, "uint32": _INT_BITS}.get(dtype, 0)
    level = Level.UNARY if text.startswith("-") else Level.ATOM
    return Operand(text, level, abs(value) if abs(value) < 1 << bits else None)


def converted(operand: Operand, type_name: str) -> Operand:
    """Return a cast of the operand to a C type."""
    return Operand(f"({type_name}){operand.inside(Level.UNARY)}", Level.UNARY)


def conditional(condition: Operand, yes: Operand, no: Operand) -> Operand:
    """Return `condition ? yes : no`."""
    text = " ? ".join(part.inside(Level.OR) for part in (condition, yes))
    is_int = yes.most is not None and no.most is not None
    most = max(yes.most or 0, no.most or 0) if is_int else None
    return Operand(f"{text} : {no.inside(Level.OR)}", Level.CONDITIONAL, most)


def infix(operator: str, level: Level, left: Operand, right: Operand) -> Operand:
    """Return an operation on two operands without conversions.

    Comparisons and bitwise operators have the same result in any type wide enough.
    """
    chained = left.level == level and level in _CHAINS
    left_text = left.text if chained else left.inside(_OPERAND_LIMIT[level])
    text = f"{left_text} {operator} {right.inside(_OPERAND_LIMIT[level])}"
    is_int = operator in _BITWISE and left.most is not None and right.most is not None
    return Operand(text, level, (1 << _INT_BITS) - 1 if is_int else None)


def arithmetic(operator: str, level: Level, left: Operand, right: Operand, dtype: str) -> Operand:
    """Return an operation on operands of TIR type `dtype`, in a C type that can hold the result.

    Parameters
    ----------
    operator
        `+`, `-`, `*`, `/`, `%`, or a shift, whose result has the type of `left`.
    """
    most = None
    if dtype == "int16" and level != Level.SHIFT:
        left = converted(left, "int32_t")
    elif dtype in ("uint8", "uint16") and operator == "*":
        left = converted(left, "uint32_t")
    elif left.most is not None and (right.most is not None or level == Level.SHIFT):
        most = _most(operator, left.most, right.most, dtype)
        left = left if most is not None else converted(left, c_type(dtype))
    return replace(infix(operator, level, left, right), most=most)


def _most(operator: str, left: int, right: int | None, dtype: str) -> int | None:
    """Return the greatest magnitude of the result, or None if it may not fit into an `int`.

    Parameters
    ----------
    left, right
        greatest magnitudes of the operands.
    """
    if right is None or dtype != "int32":
        return None
    most = {"+": left + right, "-": left + right, "*": left * right}.get(operator, left)
    fits = most < 1 << _INT_BITS - 1 and (operator != ">>" or right < _INT_BITS)
    return most if fits else None
