"""Extents that depend on symbolic sizes, as archives have them.

An expression is a number, the name of a size, or `[operator, left, right]` with the operators of
`OPERATORS`: JSON that everyone can compute without running anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

SizeExpression: TypeAlias = "int | str | list[Any]"
Bounds: TypeAlias = Mapping[str, tuple[int, int]]
"""The least and the greatest value of each size."""

OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
}
"""They round down, as in Python; what they divide by is a positive number."""

DIVISIONS = ("//", "%")
_INVERTED = ("+", "-", "*")
_PLAIN = {"min": "min({0}, {1})", "max": "max({0}, {1})"}
_ATOM, _MULTIPLY, _ADD = range(3)
DEEPEST, LONGEST = 32, 255
"""Operators inside of each other, and parts in all: more than shapes of models have."""
_LARGEST = 2**31 - 1


def is_size_expression(value: Any, sizes: Collection[str]) -> bool:
    """Whether a value of JSON is an expression of these sizes.

    Parameters
    ----------
    value
        as `metadata.json` has it; may be anything.
    sizes
        the names that it may have.
    """
    pending, parts = [(value, 0)], 0
    while pending:
        part, depth = pending.pop()
        parts += 1
        if parts > LONGEST or depth > DEEPEST:
            return False
        if isinstance(part, list):
            if len(part) != 3 or not isinstance(part[0], str) or part[0] not in OPERATORS:
                return False
            if part[0] in DIVISIONS and not is_divisor(part[2]):
                return False
            pending += [(side, depth + 1) for side in part[1:]]
        elif not (_is_number(part) or (isinstance(part, str) and part in sizes)):
            return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST


def is_divisor(value: Any) -> bool:
    """Whether expressions may divide by a value."""
    return _is_number(value) and value > 0


def parts_of(expression: SizeExpression) -> list[SizeExpression]:
    """The expression, and all that it is made of."""
    if not isinstance(expression, list):
        return [expression]
    return [expression, *(part for side in expression[1:] for part in parts_of(side))]


def sizes_in(expression: SizeExpression) -> list[str]:
    """The names of the sizes that it depends on, each once."""
    return list(dict.fromkeys(part for part in parts_of(expression) if isinstance(part, str)))


def extent_at(expression: SizeExpression, sizes: Mapping[str, int]) -> int:
    """Its value.

    Parameters
    ----------
    expression
        a valid one.
    sizes
        a value for each size in it.
    """
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return sizes[expression]
    operator, left, right = expression
    return OPERATORS[operator](extent_at(left, sizes), extent_at(right, sizes))


def shape_at(shape: Sequence[SizeExpression], sizes: Mapping[str, int]) -> list[int]:
    """The extents of a tensor at some sizes."""
    return [extent_at(extent, sizes) for extent in shape]


def extent_range(expression: SizeExpression, bounds: Bounds) -> tuple[int, int]:
    """Values that it never goes below and above; some in between may be impossible."""
    if isinstance(expression, int):
        return expression, expression
    if isinstance(expression, str):
        return bounds[expression]
    operator, *sides = expression
    left, right = (extent_range(side, bounds) for side in sides)
    if operator == "%":
        return 0, right[1] - 1
    if operator == "-":
        return left[0] - right[1], left[1] - right[0]
    values = [OPERATORS[operator](a, b) for a, b in product(left, right)]
    return min(values), max(values)


def solved(
    expression: SizeExpression, value: int, known: Mapping[str, int]
) -> tuple[str, int] | None:
    """A size that follows from the value of an expression, and its value.

    Parameters
    ----------
    expression
        a valid one.
    value
        what it is.
    known
        sizes that are known.

    Returns
    -------
    tuple[str, int] | None
        None if all are known, several are not, or different values would do, or none.
    """
    if isinstance(expression, int):
        return None
    if isinstance(expression, str):
        return None if expression in known else (expression, value)
    operator, *sides = expression
    fixed = [set(sizes_in(side)) <= set(known) for side in sides]
    if sum(fixed) != 1 or operator not in _INVERTED:
        return None
    other, unknown = (sides[0], sides[1]) if fixed[0] else (sides[1], sides[0])
    constant = extent_at(other, known)
    if operator == "+":
        return solved(unknown, value - constant, known)
    if operator == "-":
        return solved(unknown, constant - value if fixed[0] else value + constant, known)
    if constant == 0 or value % constant:
        return None
    return solved(unknown, value // constant, known)


def expression_text(
    expression: SizeExpression,
    names: Mapping[str, str] | None = None,
    notation: Mapping[str, str] | None = None,
) -> str:
    """The expression as a person reads it, or a compiler.

    Parameters
    ----------
    expression
        a valid one.
    names
        what stands for each size; its name by default.
    notation
        how operators are written that are not written as here: a sign, or a text with the places
        {0} and {1}.
    """
    return _printed(expression, names, {**_PLAIN, **(notation or {})})[0]


def _printed(
    expression: SizeExpression, names: Mapping[str, str] | None, notation: Mapping[str, str]
) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    if isinstance(expression, int):
        return (str(expression) if expression >= 0 else f"({expression})"), _ATOM
    if isinstance(expression, str):
        return (expression if names is None else names[expression]), _ATOM
    operator, *sides = expression
    left, right = (_printed(side, names, notation) for side in sides)
    written = notation.get(operator, operator)
    if "{" in written:
        return written.format(_inside(left, _ADD), _inside(right, _ADD)), _ATOM
    level = _ADD if operator in ("+", "-") else _MULTIPLY
    return f"{_inside(left, level)} {written} {_inside(right, level - 1)}", level


def _inside(printed: tuple[str, int], loosest: int) -> str:
    text, level = printed
    return text if level <= loosest else f"({text})"


def computed_text(values: Sequence[tuple[str, SizeExpression]], result: SizeExpression) -> str:
    """An expression of sizes and of named values as a person reads it, and what these are."""
    where = ", ".join(f"{name} = {expression_text(value)}" for name, value in values)
    return f"{expression_text(result)}{f', where {where}' if where else ''}"


def shape_text(shape: Sequence[SizeExpression]) -> str:
    """The extents of a tensor as a person reads them, in brackets."""
    return f"[{', '.join(map(expression_text, shape))}]"
