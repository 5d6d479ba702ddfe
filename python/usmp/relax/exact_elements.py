"""Evaluation of PrimFuncs with NumPy, where the result has the bits of compiled code.

This holds where a PrimFunc only moves elements, or computes each element by one correctly rounded
operation (IEEE 754), because a compiler then has nothing to reorder or contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import s_tir, tirx
from tvm.ir import TensorLoad

from usmp.analysis.memory.indices.index_values import Definitions, known_values
from usmp.tir.identity import identity
from usmp.tir.nodes import is_const_int
from usmp.tir.op_names import is_op

Elements = npt.NDArray[Any]

_EXACT: dict[type, np.ufunc] = {
    tirx.Add: np.add,
    tirx.Sub: np.subtract,
    tirx.Mul: np.multiply,
    tirx.Div: np.divide,
}
_FLOATS = ("float32", "float64")
_SIMPLIFIED = (-1.0, 0.0, 1.0)
"""Constant operands that TVM simplifies, as in x + 0, which may change the sign of a zero."""


def exact_elements(func: tirx.PrimFunc, arguments: list[Elements]) -> Elements | None:
    """Return the output (last parameter) of `func` for these inputs. Return None unless compiled
    code is known to give the same bits."""
    if len(func.params) != len(arguments) + 1:
        return None
    element = _element(func)
    if element is None:
        return None
    store, definitions = element
    constants = dict(zip(func.params, arguments, strict=False))
    result = _elements(store.value, constants, definitions)
    if result is None:
        return None
    shape = tuple(map(int, func.params[-1].ty.shape))
    return np.ascontiguousarray(np.broadcast_to(result, shape))


def _element(func: tirx.PrimFunc) -> tuple[tirx.BufferStore, Definitions] | None:
    """Return the store to the result, and the values of its loop variables. Return None unless the
    PrimFunc is nothing but this store in one loop over each axis."""
    loops: list[tirx.For] = []
    bound: dict[tirx.Var, tirx.Expr] = {}
    stmt = func.body
    while not isinstance(stmt, tirx.BufferStore):
        if isinstance(stmt, tirx.For):
            loops.append(stmt)
            stmt = stmt.body
        elif isinstance(stmt, s_tir.SBlockRealize) and _is_plain(stmt):
            variables = [iteration.var for iteration in stmt.block.iter_vars]
            bound.update(zip(variables, stmt.iter_values, strict=True))
            stmt = stmt.block.body
        else:
            return None
    if not stmt.buffer.same_as(func.params[-1]) or len(stmt.indices) != len(loops):
        return None
    extents = []
    for loop, index, extent in zip(loops, stmt.indices, stmt.buffer.ty.shape, strict=True):
        is_from_zero = is_const_int(loop.min, 0) and loop.step is None
        is_whole = isinstance(extent, tirx.IntImm) and is_const_int(loop.extent, int(extent))
        if not (is_from_zero and is_whole and bound.get(index, index).same_as(loop.loop_var)):
            return None
        extents.append(int(extent))
    # `Definitions` expects a last axis of vector lanes: here it has one lane.
    grid = np.ogrid[tuple(slice(extent) for extent in (*extents, 1))]
    values = {identity(loop.loop_var): axis for loop, axis in zip(loops, grid, strict=False)}
    return stmt, Definitions(len(loops) + 1, values, bound)


def _is_plain(realize: s_tir.SBlockRealize) -> bool:
    """Return whether the block has no predicate, no initialization and no buffers of its own."""
    block = realize.block
    is_always = is_const_int(realize.predicate, 1) and block.init is None
    return is_always and not block.alloc_buffers and not block.match_buffers


def _elements(
    value: tirx.Expr, constants: Mapping[tirx.Var, Elements], definitions: Definitions
) -> Elements | None:
    """Return the values of an expression in all iterations, or None if compiled bits may differ."""
    if isinstance(value, TensorLoad):
        return _loaded(value, constants, definitions)
    if str(value.ty.dtype) not in _FLOATS:
        return None
    applied = _operation(value)
    if applied is None:
        return None
    operation, operands = applied
    evaluated = [_operand(operand, constants, definitions) for operand in operands]
    known = [elements for elements in evaluated if elements is not None]
    if len(known) < len(operands):
        return None
    with np.errstate(all="ignore"):
        result = np.asarray(operation(*known))
    # The bits of a NaN are not defined.
    return None if np.isnan(result).any() else result


def _operation(value: tirx.Expr) -> tuple[np.ufunc, list[tirx.Expr]] | None:
    """Return the operation of an expression and its operands, if TVM does not simplify it."""
    if is_op(value, "tirx.sqrt"):
        return np.sqrt, list(value.args)
    if type(value) not in _EXACT:
        return None
    a, b = value.a, value.b
    if isinstance(a, TensorLoad) and isinstance(b, TensorLoad) and a.source.same_as(b.source):
        return None  # TVM simplifies x - x.
    if isinstance(value, tirx.Div) and isinstance(b, tirx.FloatImm):
        return None  # TVM multiplies by the reciprocal.
    return _EXACT[type(value)], [a, b]


def _operand(
    operand: tirx.Expr, constants: Mapping[tirx.Var, Elements], definitions: Definitions
) -> Elements | None:
    """Return the elements that an operand loads, or its constant. Return None if the elements are
    unknown, or if TVM simplifies operations with the constant."""
    if isinstance(operand, TensorLoad):
        return _loaded(operand, constants, definitions)
    if not isinstance(operand, tirx.FloatImm):
        return None
    number = np.asarray(float(operand.value), str(operand.ty.dtype))
    return None if number in _SIMPLIFIED else number


def _loaded(
    load: TensorLoad, constants: Mapping[tirx.Var, Elements], definitions: Definitions
) -> Elements | None:
    """Return the elements that a load reads."""
    elements = constants.get(load.source)
    if elements is None or len(load.indices) != elements.ndim:
        return None
    places = []
    for index, extent in zip(load.indices, elements.shape, strict=True):
        values = known_values(index, definitions)
        if values is None or not values.size or values.min() < 0 or values.max() >= extent:
            return None
        places.append(values[..., 0])
    return elements[tuple(places)]
