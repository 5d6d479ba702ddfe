"""The symbolic sizes of a planned module's entries, with checks that C can express them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tvm import tirx
from tvm.ir import IRModule

from usmp.codegen.c.text import quoted
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.entry_sizes import bounds_of, name_sizes, noted_bounds
from usmp.objects import Executor
from usmp.objects.attributes.module_attributes import BOARD_ATTR
from usmp.objects.symbolic_size import symbolic_sizes
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.plain.entry_size import EntrySize
from usmp.plain.size_expression import SizeExpression, extent_range, shape_at, shape_text, sizes_in

_INT32 = (-(2**31), 2**31 - 1)
_INT64 = (-(2**63), 2**63 - 1)


def with_sizes(
    mod: IRModule, entries: Sequence[EntryInterface], executor: Executor
) -> list[EntryInterface]:
    """Return the entries with their symbolic sizes.

    Parameters
    ----------
    mod
        the planned module.
    entries
        the entries without sizes.
    executor
        the executor that calls the code.

    Raises
    ------
    ValueError
        C or the executor does not support the sizes.
    """
    has_only_main = [entry.name for entry in entries] == [ONLY_ENTRY]
    for entry in entries:
        _check_sizes(mod[entry.function], _tensor_parameters(entry))
        symbolic = symbolic_sizes(mod[entry.function])
        if symbolic:
            _check_way(entry, executor)
        unbounded = next((size for size in symbolic if size.upper_bound is None), None)
        if unbounded is not None:
            _check_unbounded(mod, entry, str(unbounded.name))
    named = name_sizes(
        {
            "" if has_only_main else entry.name: (
                [tensor.c_name for tensor in entry.inputs],
                symbolic_sizes(mod[entry.function]),
            )
            for entry in entries
        }
    )
    for entry, sizes in zip(entries, named, strict=True):
        _check_extents([*entry.inputs, *entry.outputs], sizes)
    return [replace(entry, sizes=sizes) for entry, sizes in zip(entries, named, strict=True)]


def _tensor_parameters(entry: EntryInterface) -> int:
    """Return the number of parameters of the entry's PrimFunc that precede the sizes."""
    placed = entry.has_workspace_io
    return sum(t.is_by_rows or not placed for t in (*entry.inputs, *entry.outputs))


def _check_way(entry: EntryInterface, executor: Executor) -> None:
    """Check that tensors are passed in a way that supports symbolic sizes.

    Raises
    ------
    ValueError
        the interface is packed, or a tensor is passed by rows or as a window.
    """
    if executor.is_packed:
        raise ValueError(
            "the packed interface has fixed shapes only, and the model has symbolic sizes; compile "
            "it with the interface c, or give its inputs fixed shapes"
        )
    for tensor in (*entry.inputs, *entry.outputs):
        way = "by rows" if tensor.is_by_rows else "as a window of time" if tensor.window else ""
        if way:
            raise ValueError(
                f"{quoted(tensor.info.name)} is given or taken {way}, which models with symbolic "
                "sizes cannot do; leave that out, or give the inputs fixed shapes"
            )


def _check_unbounded(mod: IRModule, entry: EntryInterface, size: str) -> None:
    """Check that the application can provide inputs and outputs of unbounded size.

    Raises
    ------
    ValueError
        inputs and outputs are in the workspace, or in arrays of a program for a board.
    """
    reason = "inputs and outputs in the workspace have" if entry.has_workspace_io else ""
    if BOARD_ATTR.is_on(mod):
        reason = "programs for boards have arrays of"
    if reason:
        raise ValueError(
            f"size {quoted(size)} has no upper bound, but {reason} the largest size; give "
            f"--max {size}=N (in Python max_sizes), or leave that out"
        )


def _check_sizes(main: tirx.PrimFunc, first: int) -> None:
    """Check that the sizes of an entry are parameters of its PrimFunc.

    Parameters
    ----------
    main
        the planned PrimFunc of the entry.
    first
        index of the first size among the parameters.

    Raises
    ------
    ValueError
        two sizes have one name, or a size differs from the parameter at its index.
    """
    names: set[str] = set()
    for index, size in enumerate(symbolic_sizes(main)):
        name = quoted(size.name)
        if str(size.name) in names:
            raise ValueError(f"the main function has size {name} twice; rename one")
        names.add(str(size.name))
        param = main.params[first + index] if first + index < len(main.params) else None
        dtype = str(getattr(getattr(param, "ty", None), "dtype", ""))
        if param is None or str(param.name) != str(size.name) or dtype != "int32":
            raise ValueError(
                f"parameter {first + index} of the main function must be the int32 {name}, "
                f"not {'missing' if param is None else f'{dtype} {param.name}'}"
            )


def _check_extents(tensors: Sequence[IOTensor], sizes: Sequence[EntrySize]) -> None:
    """Check that the shapes of tensors can be computed from the sizes in 32 bits, or in 64 if they
    depend on a size without an upper bound.

    Parameters
    ----------
    tensors
        inputs and outputs of an entry.
    sizes
        sizes of the entry.

    Raises
    ------
    ValueError
        a shape depends on other variables, is not largest at the upper bounds, or may overflow.
    """
    bounds, noted = bounds_of(sizes), noted_bounds(sizes)
    unbounded = {size.name for size in sizes if size.upper_bound is None}
    largest = {name: high for name, (_, high) in noted.items()}
    for tensor in tensors:
        info, extents = tensor.info, tensor.symbolic_extents
        name = quoted(info.name)
        unknown = [n for e in extents for n in sizes_in(e) if n not in bounds]
        if unknown:
            raise ValueError(
                f"the shape {shape_text(extents)} of tensor {name} depends on {quoted(unknown[0])},"
                f" which is no size of the model: {', '.join(map(quoted, bounds)) or 'it has none'}"
            )
        at_most = [int(extent) for extent in info.shape]
        if extents and shape_at(extents, largest) != at_most:
            raise ValueError(
                f"tensor {name} of shape {shape_text(extents)} is {shape_at(extents, largest)} at "
                f"the largest sizes, not {at_most}"
            )
        for extent, most in zip(extents, at_most, strict=False):
            if extent_range(extent, noted)[1] > most:
                raise ValueError(
                    f"tensor {name} of shape {shape_text(extents)} may be larger than {at_most}, "
                    "which it is at the largest sizes; only shapes that grow with the sizes can be "
                    "planned for"
                )
        is_unbounded = any(unbounded & set(sizes_in(extent)) for extent in extents)
        bits, (least, greatest) = (64, _INT64) if is_unbounded else (32, _INT32)
        for part in (part for extent in extents for part in _operations(extent)):
            low, high = extent_range(part, bounds)
            if low < least or high > greatest:
                raise ValueError(
                    f"the shape {shape_text(extents)} of tensor {name} may leave {bits} bits; give "
                    "its sizes smaller upper bounds"
                )


def _operations(expression: SizeExpression) -> list[SizeExpression]:
    """Return the operations in an expression, itself included."""
    if not isinstance(expression, list):
        return []
    return [expression, *(part for side in expression[1:] for part in _operations(side))]
