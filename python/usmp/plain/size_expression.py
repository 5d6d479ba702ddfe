"""Extents that depend on symbolic sizes, in the notation of archives.

An expression is a number, the name of a size, or `[operator, left, right]` with the operators of
`OPERATORS`: JSON that readers evaluate without running code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

SizeExpression: TypeAlias = "int | str | list[Any]"
Bounds: TypeAlias = Mapping[str, tuple[int, int]]
"""Name of a size -> its smallest and largest value."""

OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
}
"""Operators of expressions. Division rounds down, as in Python; divisors are positive numbers."""

DIVISIONS = ("//", "%")
_INVERTED = ("+", "-", "*")
_PLAIN = {"min": "min({0}, {1})", "max": "max({0}, {1})"}
_ATOM, _MULTIPLY, _ADD = range(3)
DEEPEST, LONGEST = 32, 255
"""Most nested operators, and most parts of an expression: more than shapes of models have."""
_LARGEST = 2**31 - 1


def is_size_expression(value: Any, sizes: Collection[str]) -> bool:
    """Return whether a JSON value is an expression of the allowed sizes.

    Parameters
    ----------
    value
        any value in `metadata.json`.
    sizes
        names of the allowed sizes.
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
    """Return whether expressions may divide by a value."""
    return _is_number(value) and value > 0


def parts_of(expression: SizeExpression) -> list[SizeExpression]:
    """Return an expression and all its subexpressions."""
    if not isinstance(expression, list):
        return [expression]
    return [expression, *(part for side in expression[1:] for part in parts_of(side))]


def sizes_in(expression: SizeExpression) -> list[str]:
    """Return the distinct names of sizes in an expression."""
    return list(dict.fromkeys(part for part in parts_of(expression) if isinstance(part, str)))


def extent_at(expression: SizeExpression, sizes: Mapping[str, int]) -> int:
    """Return the value of an expression.

    Parameters
    ----------
    expression
        a valid expression.
    sizes
        name of a size -> its value.
    """
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return sizes[expression]
    operator, left, right = expression
    return OPERATORS[operator](extent_at(left, sizes), extent_at(right, sizes))


def shape_at(shape: Sequence[SizeExpression], sizes: Mapping[str, int]) -> list[int]:
    """Return the extents of a tensor for some sizes."""
    return [extent_at(extent, sizes) for extent in shape]


def extent_range(expression: SizeExpression, bounds: Bounds) -> tuple[int, int]:
    """Return lower and upper bound of an expression."""
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
    """Return the name and the value of the size that follows from the value of an expression.

    Parameters
    ----------
    expression
        a valid expression.
    value
        value of the expression.
    known
        name of a known size -> its value.

    Returns
    -------
    tuple[str, int] | None
        None if no size is unknown, or if inverting `+`, `-` and `*` gives no unique solution.
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
    """Return an expression in infix notation, for users or for a compiler.

    Parameters
    ----------
    expression
        a valid expression.
    names
        name of a size -> its text; by default the name.
    notation
        operator -> another sign for it, or a format with {0} and {1}.
    """
    return _printed(expression, names, {**_PLAIN, **(notation or {})})[0]


def _printed(
    expression: SizeExpression, names: Mapping[str, str] | None, notation: Mapping[str, str]
) -> tuple[str, int]:
    """Return the text, and the precedence of its outermost operator."""
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
    """Return the text of an expression of sizes and named values, with the values' definitions."""
    where = ", ".join(f"{name} = {expression_text(value)}" for name, value in values)
    return f"{expression_text(result)}{f', where {where}' if where else ''}"


def shape_text(shape: Sequence[SizeExpression]) -> str:
    """Return the text of a shape, in brackets."""
    return f"[{', '.join(map(expression_text, shape))}]"
