"""Lower bounds of symbolic sizes that give every tensor of a function at least one element.

For example, a convolution without padding has no output for an input shorter than its kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

import tvm_ffi
from tvm import relax
from tvm.ir import Expr, Var

from usmp.objects.symbolic_size import SymbolicSize
from usmp.plain.entry_size import LARGEST_SIZE
from usmp.relax.static_shapes import flatten_types
from usmp.relax.symbolic_sizes import (
    bounded_analyzer,
    shape_variables,
    shown_shape,
    symbolic_shape,
    symbolic_sizes_of,
    with_bounds,
)
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown
from usmp.tir.nodes import nodes_of

Bounds = list[tuple[Var, SymbolicSize]]


def with_smallest_sizes(main: relax.Function) -> relax.Function:
    """Raise the lower bounds of sizes until every tensor of a function has elements.

    Raises
    ------
    UnsupportedModelError
        a tensor has no elements even for the largest sizes, or this depends on several sizes.
    """
    bounds = list(zip(shape_variables(main), symbolic_sizes_of(main), strict=True))

    def on_binding(binding: relax.VarBinding) -> None:
        nonlocal bounds
        for ty in flatten_types(binding.var.ty):
            shape = symbolic_shape(ty)
            for extent in shape or ():
                bounds = _raised(bounds, extent, shape or ())

    for param in main.params:
        for ty in flatten_types(param.ty):
            shape = symbolic_shape(ty)
            for extent in shape or ():
                bounds = _raised(bounds, extent, shape or ())
    tvm_ffi.structural_walk(main.body, (relax.VarBinding, on_binding))
    return with_bounds(main, [size for _, size in bounds])


def _raised(bounds: Bounds, extent: Expr, shape: Sequence[Expr]) -> Bounds:
    """Raise the lower bound of a size until an extent is at least 1, and return all bounds."""
    if _is_positive(bounds, extent):
        return bounds
    used = [
        i for i, (v, _) in enumerate(bounds) if any(v.same_as(n) for n in nodes_of(extent, Var))
    ]
    if len(used) != 1:
        names = " and ".join(f'"{shown(bounds[i][1].name)}"' for i in used)
        raise UnsupportedModelError(
            f"a tensor of shape {shown_shape(shape)} has no elements for some of the sizes "
            f"{names}; fix all of them but one"
        )
    (at,) = used
    size = bounds[at][1]
    largest = LARGEST_SIZE if size.upper_bound is None else int(size.upper_bound)
    if not _is_positive(_with_lower_bound(bounds, at, largest), extent):
        raise UnsupportedModelError(
            f"a tensor of shape {shown_shape(shape)} has no elements even where size "
            f'"{shown(size.name)}" is largest, {largest}; give a larger one'
        )
    low, high = int(size.lower_bound), largest
    while low < high:
        middle = (low + high) // 2
        if _is_positive(_with_lower_bound(bounds, at, middle), extent):
            high = middle
        else:
            low = middle + 1
    return _with_lower_bound(bounds, at, low)


def _is_positive(bounds: Bounds, extent: Expr) -> bool:
    return int(bounded_analyzer(bounds).const_int_bound(extent).min_value) >= 1


def _with_lower_bound(bounds: Bounds, at: int, lower: int) -> Bounds:
    variable, size = bounds[at]
    changed = SymbolicSize(str(size.name), lower, size.upper_bound)
    return [*bounds[:at], (variable, changed), *bounds[at + 1 :]]
