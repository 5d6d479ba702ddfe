"""Checks of the expressions of dynamic sizes in `.pt2` files.

PyTorch passes their text to SymPy, which evaluates it as Python. So the text is parsed here, and
replaced by the text of the parsed tree. The grammar is::

    expression = integer | symbol | True | False | "(" expression ")"
               | ("+" | "-") expression | expression operator expression
               | function "(" [expression {"," expression}] ")"
               | "Integer(" integer ")"
               | "Symbol('" symbol "'" {"," assumption "=" ("True" | "False")} ")"
    symbol     = ("s" | "u" | "zf" | "zuf") digits
    operator   = "+" | "-" | "*" | "//" | "/" | "%" | "<" | "<=" | ">" | ">=" | "==" | "!="

with the functions and assumptions below. The exponent of `Pow` is an integer from -1 to 4, and its
base has no `Pow`. An expanded expression has at most 100 terms, because SymPy computes common
divisors of polynomials, which takes hours even for one line of powers of sums.
"""

from __future__ import annotations

import ast
import re
from math import prod
from typing import Any

from usmp.frontend.pytorch.pt2.json_checks import refused

_LONGEST = 2000
_LARGEST_INTEGER = 2**63 - 1
_MOST_TERMS = 100
_EXPONENTS = range(-1, 5)
_SYMBOL = re.compile(r"(s|u|zf|zuf)[0-9]{1,5}")
_FUNCTIONS = frozenset(
    """Add Mul Pow Max Min Abs floor ceiling And Or Not Equality Unequality Eq Ne
    StrictLessThan StrictGreaterThan LessThan GreaterThan Lt Gt Le Ge
    FloorDiv CleanDiv CeilDiv Mod PythonMod ModularIndexing IntTrueDiv FloatTrueDiv
    ToFloat TruncToInt TruncToFloat FloorToInt CeilToInt RoundToInt Identity""".split()
)
_ASSUMPTIONS = frozenset("integer positive nonnegative negative nonzero real finite".split())
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def symbol(value: Any, where: str) -> str:
    """Return the name of a dynamic size after checking it."""
    if not isinstance(value, str) or not _SYMBOL.fullmatch(value):
        raise refused(value, where, "not the name of a size, such as s0")
    return value


def expression(value: Any, where: str) -> str:
    """Parse an expression of the grammar above, and return its text.

    Raises
    ------
    NotAllowedError
        the value is not in the grammar, or has too many terms.
    """
    error = refused(value, where, "not an expression of sizes")
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise error
    try:
        tree = ast.parse(value, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise error from None
    if not _is_allowed(tree):
        raise error
    if _terms(tree) > _MOST_TERMS:
        raise refused(value, where, f"which has more than {_MOST_TERMS} terms written out")
    return ast.unparse(tree)


def _is_allowed(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=bool()):
            return True
        case ast.Constant(value=int(value)):
            return value <= _LARGEST_INTEGER
        case ast.Name(id=name):
            return _SYMBOL.fullmatch(name) is not None
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _is_allowed(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return isinstance(op, _OPERATORS) and _is_allowed(left) and _is_allowed(right)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return isinstance(op, _COMPARISONS) and _is_allowed(left) and _is_allowed(right)
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))]):
            return _SYMBOL.fullmatch(name) is not None and all(
                keyword.arg in _ASSUMPTIONS
                and isinstance(keyword.value, ast.Constant)
                and isinstance(keyword.value.value, bool)
                for keyword in node.keywords
            )
        case ast.Call(func=ast.Name(id="Integer")):
            return _integer_of(node) is not None
        case ast.Call(func=ast.Name(id="Pow"), args=[base, exponent], keywords=[]):
            # Nested powers are short to write, and take hours to compute.
            flat = not any(isinstance(n, ast.Name) and n.id == "Pow" for n in ast.walk(base))
            return flat and _is_allowed(base) and _integer_of(exponent) in _EXPONENTS
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return name in _FUNCTIONS - {"Pow"} and all(map(_is_allowed, arguments))
    return False


def _terms(node: ast.AST) -> int:
    """Return an upper bound of the number of terms of an expanded expression."""
    match node:
        case ast.UnaryOp(operand=operand):
            return _terms(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _terms(left) + _terms(right)
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return _terms(left) * _terms(right)
        case ast.Call(func=ast.Name(id="Pow"), args=[base, exponent]):
            return prod([_terms(base)] * max(_integer_of(exponent) or 0, 1))
        case ast.Call(func=ast.Name(id="Add" | "Max" | "Min" | "And" | "Or"), args=arguments):
            return sum(map(_terms, arguments))
        case ast.Call(args=arguments):
            return prod(map(_terms, arguments))
    return 1


def _integer_of(node: ast.expr) -> int | None:
    """Return the value of an integer literal, bare or in `Integer()`, else None."""
    match node:
        case ast.Call(func=ast.Name(id="Integer"), args=[ast.Constant() | ast.UnaryOp() as value]):
            return None if node.keywords else _integer_of(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            return -value if type(value) is int and value <= _LARGEST_INTEGER else None
        case ast.Constant(value=value):
            return value if type(value) is int and value <= _LARGEST_INTEGER else None
    return None
