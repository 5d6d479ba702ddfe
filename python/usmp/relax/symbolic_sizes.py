"""Symbolic sizes: the shape variables of a Relax module, and their bounds.

The bounds are attributes of functions, with TVM's names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

import tvm_ffi
from tvm import relax
from tvm.ir import Expr, IRModule, Range, Type, Var
from tvm.sym import Analyzer
from tvm.tirx import IntImm

from usmp.objects.attributes.module_attributes import LOWER_BOUNDS_ATTR, UPPER_BOUNDS_ATTR
from usmp.objects.symbolic_size import SymbolicSize
from usmp.plain.entry_size import LARGEST_SIZE
from usmp.relax.binding_titles import result_title
from usmp.relax.entries import relax_entries
from usmp.relax.static_shapes import LARGEST_TENSOR_BYTES, flatten_types
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import nodes_of


def symbolic_sizes_of(main: relax.Function) -> list[SymbolicSize]:
    """Return the sizes of a function with their bounds, in the order of first use by parameters.

    Raises
    ------
    ValueError
        two variables have one name, or an attribute has an impossible bound.
    """
    variables = shape_variables(main)
    bounds = [a.of(main) or {} for a in (UPPER_BOUNDS_ATTR, LOWER_BOUNDS_ATTR)]
    sizes = []
    for name in map(str, (variable.name for variable in variables)):
        upper, lower = (None if name not in by_name else int(by_name[name]) for by_name in bounds)
        lower = 1 if lower is None else max(lower, 1)
        if upper is not None and not lower <= upper <= LARGEST_SIZE:
            raise ValueError(
                f'the largest value of size "{shown(name)}" is {upper}, by the attribute '
                f"{UPPER_BOUNDS_ATTR}; it must be from {lower} to {LARGEST_SIZE}"
            )
        sizes.append(SymbolicSize(name, lower, upper))
    return sizes


def size_variables(main: relax.Function) -> dict[Var, SymbolicSize]:
    """Return the shape variables of a function with their bounds, in order of first use.

    Raises
    ------
    ValueError
        see `symbolic_sizes_of`.
    """
    return dict(zip(shape_variables(main), symbolic_sizes_of(main), strict=True))


def with_max_sizes(mod: IRModule, max_sizes: Mapping[str, int | None]) -> IRModule:
    """Return the module with upper bounds for some sizes.

    Parameters
    ----------
    mod
        a module with a Relax `main` or several entries; the bound holds in every entry with a shape
        variable of this name.
    max_sizes
        name of a shape variable -> its largest value; None leaves the size unbounded.

    Raises
    ------
    ValueError
        a name is no size of the module; or a value is no positive integer, is below the lower
        bound, or exceeds the upper bound that the module already has.
    UnsupportedModelError
        with the largest sizes, a tensor takes more than 2^31 - 1 bytes, which C cannot index.
    """
    checked = check_max_sizes(max_sizes)
    check_names(checked, size_names(mod))
    changed = IRModule(mod.functions, attrs=mod.attrs)
    for entry, function in _entry_functions(mod).items():
        bounded = [narrowed(size, checked) for size in symbolic_sizes_of(function)]
        function = with_bounds(function, bounded)
        check_largest_tensors(function)
        changed.update_func(mod.get_global_var(entry), function)
    return changed


def size_names(mod: IRModule) -> list[str]:
    """Return the names of the shape variables of all entries."""
    functions = _entry_functions(mod).values()
    return list(dict.fromkeys(str(s.name) for f in functions for s in symbolic_sizes_of(f)))


def check_max_sizes(max_sizes: Mapping[str, int | None]) -> dict[str, int | None]:
    """Check that each largest value is None or a positive integer that an `int32_t` holds.

    Raises
    ------
    ValueError
        a value is neither.
    """
    for name, value in max_sizes.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(
                f'the largest value of size "{shown(name)}" must be an integer, or None for a size '
                f"without one, not {shown(repr(value))}"
            )
        if not 1 <= value <= LARGEST_SIZE:
            raise ValueError(
                f'the largest value of size "{shown(name)}" must be from 1 to {LARGEST_SIZE}, '
                f"not {value}"
            )
    return dict(max_sizes)


def check_names(
    names: Sequence[str] | Mapping[str, object],
    known: Sequence[str],
    what: str = "size",
    if_none: str = "All its shapes are fixed",
) -> None:
    """Check that all names are known; `what` is the kind of thing that they name, for messages.

    Raises
    ------
    ValueError
        a name is unknown; the message lists the known ones.
    """
    for name in names:
        if name not in known:
            problem = f'the model has no {what} "{shown(name)}"'
            message = unknown_name(problem, name, known, f"Its {what}s")
            raise ValueError(message if known else f"{problem}. {if_none}")


def narrowed(size: SymbolicSize, max_sizes: Mapping[str, int | None]) -> SymbolicSize:
    """Return the size with the upper bound from `max_sizes`, or unchanged if it is not listed.

    Raises
    ------
    ValueError
        the value is below the lower bound, or exceeds (or removes) the present upper bound.
    """
    name, lower, upper = str(size.name), int(size.lower_bound), size.upper_bound
    if name not in max_sizes:
        return size
    value = max_sizes[name]
    if value is not None and value < lower:
        raise ValueError(
            f'size "{shown(name)}" is at least {lower} in the model, so that it cannot be at most '
            f"{value}"
        )
    if upper is not None and (value is None or value > upper):
        number = "any number" if value is None else str(value)
        raise ValueError(
            f'size "{shown(name)}" is at most {upper} in the model, which holds for no larger one; '
            f"it cannot be {number}: give {upper} or less, or export the model anew"
        )
    return SymbolicSize(name, lower, value)


def with_bounds(function: relax.Function, sizes: Sequence[SymbolicSize]) -> relax.Function:
    """Return the function with the bounds of its shape variables as attributes."""
    upper = {str(s.name): int(s.upper_bound) for s in sizes if s.upper_bound is not None}
    lower = {str(s.name): int(s.lower_bound) for s in sizes if s.lower_bound > 1}
    for attribute, bounds in ((UPPER_BOUNDS_ATTR, upper), (LOWER_BOUNDS_ATTR, lower)):
        function = attribute.put(function, bounds) if bounds else attribute.removed(function)
    return function


def analyzer_of(main: relax.Function) -> Analyzer:
    """Return an analyzer that knows the bounds of the sizes of a function."""
    return bounded_analyzer(
        [(v, size) for v, size in zip(shape_variables(main), symbolic_sizes_of(main), strict=True)]
    )


def bounded_analyzer(sizes: Sequence[tuple[Var, SymbolicSize]]) -> Analyzer:
    """Return an analyzer that knows the bounds of these sizes."""
    analyzer = Analyzer()
    for variable, size in sizes:
        largest = LARGEST_SIZE if size.upper_bound is None else int(size.upper_bound)
        bounds = (IntImm("int64", int(size.lower_bound)), IntImm("int64", largest + 1))
        analyzer.bind(variable, Range(*bounds))
    return analyzer


class LargestSizes:
    """Upper bounds of shapes, from the upper bounds of a function's sizes.

    Parameters
    ----------
    main
        a function whose attributes have the bounds.
    """

    def __init__(self, main: relax.Function) -> None:
        sizes = zip(shape_variables(main), symbolic_sizes_of(main), strict=True)
        self._unbounded = [variable for variable, size in sizes if size.upper_bound is None]
        self._analyzer = analyzer_of(main)

    def shape(self, shape: Sequence[Expr]) -> list[int] | None:
        """Return upper bounds of the extents, or None if one is unbounded."""
        for variable in (v for extent in shape for v in nodes_of(extent, Var)):
            if any(variable.same_as(size) for size in self._unbounded):
                return None
        return [int(self._analyzer.const_int_bound(extent).max_value) for extent in shape]

    def tensors(self, var: Var) -> list[tuple[list[int], str]]:
        """Return the upper bounds of the extents, and the element type, of each tensor of symbolic
        shape in a variable. Skip tensors with an unbounded extent."""
        shapes = [(symbolic_shape(ty), ty) for ty in flatten_types(var.ty)]
        largest = [(self.shape(shape), ty) for shape, ty in shapes if shape is not None]
        return [(shape, str(ty.dtype)) for shape, ty in largest if shape is not None]


def check_largest_tensors(main: relax.Function) -> None:
    """Check that C can index each tensor of symbolic shape when the sizes are largest.

    Raises
    ------
    UnsupportedModelError
        a tensor takes more than 2^31 - 1 bytes; the message names it.
    """
    sizes = LargestSizes(main)
    bounded = [s for s in symbolic_sizes_of(main) if s.upper_bound is not None]

    def check(var: Var, title: str) -> None:
        for shape, dtype in sizes.tensors(var):
            needed = prod(shape) * item_bytes(dtype)
            if needed > LARGEST_TENSOR_BYTES:
                listed = ", ".join(f"{shown(s.name)}={s.upper_bound}" for s in bounded)
                raise UnsupportedModelError(
                    f"{title} of shape {shape} takes {needed} bytes with the "
                    f"largest sizes, {listed}; a tensor may take {LARGEST_TENSOR_BYTES}, because "
                    "the emitted C indexes with 32 bits: give smaller ones"
                )

    def on_binding(binding: relax.VarBinding) -> None:
        check(binding.var, result_title(binding))

    for param in main.params:
        check(param, f"input {shown(param.name)}")
    tvm_ffi.structural_walk(main.body, (relax.VarBinding, on_binding))


def symbolic_shape(ty: Type) -> list[Expr] | None:
    """Return the extents of a tensor of symbolic shape; None for all other types."""
    shape = getattr(ty, "shape", None)
    if not isinstance(ty, relax.TensorType) or not isinstance(shape, relax.ShapeExpr):
        return None
    return None if all(isinstance(extent, IntImm) for extent in shape) else list(shape)


def shown_shape(shape: Sequence[object]) -> str:
    """Return a shape for messages, as "[1, seq, 32]"."""
    return f"[{', '.join(map(shown_extent, shape))}]"


def shown_type(ty: Type) -> str:
    """Return a type for messages; that of a tensor as "float32[1, seq, 32]"."""
    if not isinstance(ty, relax.TensorType) or ty.shape is None:
        return str(ty)
    return f"{ty.dtype}{shown_shape(list(ty.shape))}"


def shown_extent(extent: object) -> str:
    """Return an extent for messages, as "seq // 2", without the types that TVM prints."""
    return shown(re.sub(r"T\.int64\((-?\d+)\)", r"\1", str(getattr(extent, "value", extent))))


def shape_variables(main: relax.Function) -> list[Var]:
    """Return the shape variables of a function, in the order of first use by parameters."""
    variables: list[Var] = []
    for param in main.params:
        for ty in flatten_types(param.ty):
            for extent in symbolic_shape(ty) or ():
                for variable in nodes_of(extent, Var):
                    if not any(variable.same_as(known) for known in variables):
                        variables.append(variable)
    names = [str(variable.name) for variable in variables]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f'the function has two shape variables of the name "{shown(name)}"; rename one, or '
                "use one for both"
            )
    return variables


def _entry_functions(mod: IRModule) -> dict[str, relax.Function]:
    """Return the functions of the entries; none for a module without entries."""
    functions = {
        str(variable.name_hint): func
        for variable, func in mod.functions.items()
        if isinstance(func, relax.Function)
    }
    return {name: functions[name] for name in relax_entries(mod) if name in functions}
