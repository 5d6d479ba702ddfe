"""Groups of functions that are equal except for integer constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op

from usmp.tir.dtypes import dtype_of
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import EXTERN_CALLS
from usmp.tir.tensor_intrin import intrinsic_call
from usmp.tir.unrolled_loops import UNROLL_EXPLICIT

DTYPE = "int32"
"""The type of constants that may differ; constants of other types are equal in a group."""

_CONSTANT_RIGHT = (
    *(tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod),
    *(tirx.LShift, tirx.RShift),
)
"""Operations whose second operand stays constant."""
Values = tuple[int, ...]
"""The values of one constant in each function of a group."""


@dataclass(frozen=True)
class SimilarFunctions:
    """Functions that are equal except for integers that need not be constant.

    Parameters
    ----------
    functions
        names of at least two functions, in order.
    constants
        values of each 32-bit integer in the bodies, in order of occurrence.
    sizes
        values of those integers that are sizes of declared buffers, which no code computes with.
    """

    functions: list[str]
    constants: list[Values]
    sizes: list[Values]


def similar_functions(functions: Mapping[str, tirx.PrimFunc]) -> list[SimilarFunctions]:
    """Return the groups of similar functions, in order of their first functions.

    Integers that must be compile-time constants are equal in a group: sizes of allocations, bounds
    of unrolled loops, divisors, and arguments of operators such as shifts.
    """
    groups: dict[object, dict[str, tirx.PrimFunc]] = {}
    for name, func in functions.items():
        zeroed = _zeroed(func)
        key = int(tvm_ffi.structural_hash(zeroed)), *_needed(func)
        groups.setdefault(key, {})[name] = zeroed
    similar = []
    for group in groups.values():
        first = next(iter(group.values()))
        names = [n for n, zeroed in group.items() if tvm_ffi.structural_equal(zeroed, first)]
        if len(names) > 1:
            equal = [functions[name] for name in names]
            constants = zip(*(_constants(func.body) for func in equal), strict=True)
            sizes = zip(*map(_sizes, equal), strict=True)
            similar.append(SimilarFunctions(names, list(constants), list(sizes)))
    return similar


def with_constants(body: tirx.Stmt, values: Iterable[tirx.Expr]) -> tirx.Stmt:
    """Return `body` with its integers replaced by expressions, in order of occurrence."""
    remaining = iter(values)

    def replace(constant: tirx.IntImm) -> tirx.Expr:
        return next(remaining) if dtype_of(constant) == DTYPE else constant

    return tvm_ffi.structural_map(body, (tirx.IntImm, replace))


def _constants(body: tirx.Stmt) -> list[int]:
    constants: list[int] = []

    def add(constant: tirx.IntImm) -> tirx.Expr:
        if dtype_of(constant) == DTYPE:
            constants.append(int(constant))
        return constant

    # Map, as `with_constants` does: a walk would visit the type of a buffer at each use.
    tvm_ffi.structural_map(body, (tirx.IntImm, add))
    return constants


def _zeroed(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return the function with all 32-bit integers 0, without attributes."""
    body = with_constants(func.body, repeat(tirx.IntImm(DTYPE, 0)))
    return tirx.PrimFunc(func.params, body, func.ret_type)


def _sizes(func: tirx.PrimFunc) -> Iterator[int]:
    """Yield the sizes of declared buffers and the integers in their layouts, in order."""
    for declared in nodes_of(func.body, tirx.DeclBuffer):
        yield from _constants(tirx.AllocBuffer(declared.buffer))


def _needed(func: tirx.PrimFunc) -> Iterator[Values]:
    """Yield the integers that must be compile-time constants."""
    for allocation in nodes_of(func.body, tirx.AllocBuffer):
        yield _integers([*allocation.buffer.shape, *allocation.annotations.values()])
    for declared in nodes_of(func.body, tirx.DeclBuffer):
        yield _integers([*declared.buffer.ty.strides, declared.buffer.ty.elem_offset])
    for loop in nodes_of(func.body, tirx.For):
        yield _integers(loop.annotations.values())
    for attribute in nodes_of(func.body, tirx.AttrStmt):
        if intrinsic_call(attribute) is None:
            yield _integers([attribute.value])
        if str(attribute.attr_key) == UNROLL_EXPLICIT and isinstance(attribute.body, tirx.For):
            yield _integers([attribute.body.min, attribute.body.extent])
    for kind in _CONSTANT_RIGHT:
        yield _integers(operation.b for operation in nodes_of(func.body, kind))
    for call in nodes_of(func.body, Call):
        if isinstance(call.op, Op) and str(call.op.name) not in EXTERN_CALLS:
            yield _integers(call.args)


def _integers(expressions: Iterable[object]) -> Values:
    return tuple(int(e) for e in expressions if isinstance(e, tirx.IntImm))


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function that replaces a group of similar functions.

    Parameters
    ----------
    variables
        the parameters.
    values
        values of each parameter in the replaced functions.
    constants
        the expression for each integer, in order of occurrence.
    """

    variables: list[tirx.Var]
    values: list[Values]
    constants: Sequence[tirx.Expr]


def parameters_of(similar: SimilarFunctions) -> Parameters:
    """Return parameters for the integers that differ.

    An integer that can be computed from others (see `_computed`) needs no parameter. A
    declared buffer whose size differs gets the largest size.
    """
    known: dict[Values, tirx.Expr] = {}
    variables: dict[Values, tirx.Var] = {}
    for values in sorted(set(similar.constants), key=lambda v: (sum(map(abs, v)), v)):
        if similar.constants.count(values) == similar.sizes.count(values):
            known[values] = tirx.IntImm(DTYPE, max(values))
            continue
        expression = _computed(values, variables)
        if expression is None:
            expression = variables[values] = tirx.Var("constant", DTYPE)
        known[values] = expression
    constants = [known[values] for values in similar.constants]
    return Parameters(list(variables.values()), list(variables), constants)


def _computed(values: Values, variables: Mapping[Values, tirx.Var]) -> tirx.Expr | None:
    """Return an expression with these values: a constant, a variable plus or times a constant, or
    the sum or difference of two variables; None if no such expression has them."""
    if len(set(values)) == 1:
        return tirx.IntImm(DTYPE, values[0])
    for other, variable in variables.items():
        pairs = list(zip(values, other, strict=True))
        if len({a - b for a, b in pairs}) == 1:
            return variable + (values[0] - other[0])
        factor = values[0] // other[0] if other[0] else 0
        if factor and all(a == b * factor for a, b in pairs):
            return variable * factor
    for other, variable in variables.items():
        rest = tuple(a - b for a, b in zip(values, other, strict=True))
        if rest in variables:
            return variable + variables[rest]
        rest = tuple(b - a for a, b in zip(values, other, strict=True))
        if rest in variables:
            return variable - variables[rest]
    return None
