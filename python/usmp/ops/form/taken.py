"""A PrimFunc that computes an output at some indices of its axes, from parts of its operands.

Unlike `part_of`, which keeps an interval, `taken` keeps any index set of an axis, such as channels.
The remaining elements are computed as before; only extents change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad, Var

from usmp.ops.form.nests import Form, Nest
from usmp.ops.form.resized import resized
from usmp.tir.nodes import mentions


@dataclass(frozen=True, eq=False)
class Taken:
    """An operator whose operands have lost indices.

    Parameters
    ----------
    func
        the PrimFunc, with the parameters of the whole operator in their order.
    kept
        index of a parameter -> axis -> remaining indices, (count) of int64, ascending.
    """

    func: tirx.PrimFunc
    kept: Mapping[int, Mapping[int, np.ndarray]]

    def sliced(self, parameter: int, values: np.ndarray) -> np.ndarray:
        """Return the remaining values of a parameter."""
        for axis, indices in self.kept.get(parameter, {}).items():
            values = values.take(indices, axis)
        return np.ascontiguousarray(values)


def taken(
    form: Form,
    kept: Mapping[int, tuple[int, np.ndarray]],
    constants: Collection[int] = (),
    loses_terms: bool = False,
) -> Taken | None:
    """Return the operator at some indices of its axes.

    Parameters
    ----------
    kept
        index of a parameter, the output included -> an axis, and its remaining indices, ascending.
    constants
        indices of parameters that may lose the corresponding indices.
    loses_terms
        whether reductions may lose terms.

    Returns
    -------
    Taken | None
        None if an element depends on an index by other means than loads, if the index sets of two
        axes are inconsistent, or if another parameter would lose indices.
    """
    params = form.func.params
    selection = _Selection({params[index]: {axis: own} for index, (axis, own) in kept.items()})
    while any([selection.spread(nest) for nest in form.nests]):
        pass
    if not all(selection.is_consistent(nest, loses_terms) for nest in form.nests):
        return None
    own = {i: selection.axes[param] for i, param in enumerate(params) if param in selection.axes}
    if any(own[index].keys() != {axis} for index, (axis, _) in kept.items()):
        return None
    if not own.keys() <= {*kept, *constants}:
        return None
    return Taken(selection.func(form.func), own)


class _Selection:
    """The remaining indices of buffers and iterators.

    Attributes
    ----------
    axes
        buffer -> axis -> indices.
    iterators
        iterator of a nest -> indices.
    """

    def __init__(self, axes: dict[Var, dict[int, np.ndarray]]) -> None:
        self.axes = axes
        self.iterators: dict[Var, np.ndarray] = {}

    def spread(self, nest: Nest) -> bool:
        """Propagate index sets between iterators and axes; return whether one was added."""
        has_changed = False
        for buffer, axis, index in _indices(nest):
            own = self.axes.get(buffer, {}).get(axis)
            iterator, divisor = _divided(index)
            indices = self.iterators.get(iterator) if iterator is not None else None
            if own is not None and indices is None and divisor == 1 and iterator is not None:
                self.iterators[iterator] = own
                has_changed = True
            elif own is None and indices is not None:
                self.axes.setdefault(buffer, {})[axis] = np.unique(indices // divisor)
                has_changed = True
        return has_changed

    def is_consistent(self, nest: Nest, loses_terms: bool) -> bool:
        """Return whether the nest computes the remaining elements as before.

        Each index must lead to the same element, and all remaining elements must be written.
        """
        chosen = [variable for variable in nest.extents if variable in self.iterators]
        if not loses_terms and not nest.spatial.issuperset(chosen):
            return False
        stored = self.axes.get(nest.buffer, {})
        if any(
            len(self.iterators.get(index, ())) != len(stored[axis])
            for axis, index in enumerate(nest.indices)
            if axis in stored
        ):
            return False
        value = _without_loads(nest.value)
        return not any(mentions(value, variable) for variable in chosen) and all(
            self._is_same(self.axes.get(buffer, {}).get(axis), index, chosen)
            for buffer, axis, index in _indices(nest)
        )

    def _is_same(self, own: np.ndarray | None, index: tirx.Expr, chosen: list[Var]) -> bool:
        if own is None:
            return not any(mentions(_without_loads(index), variable) for variable in chosen)
        iterator, divisor = _divided(index)
        indices = self.iterators.get(iterator) if iterator is not None else None
        if indices is None or not np.isin(indices // divisor, own).all():
            return False
        places = np.searchsorted(own, indices // divisor)
        return np.array_equal(places, np.arange(len(indices)) // divisor)

    def func(self, func: tirx.PrimFunc) -> tirx.PrimFunc:
        """Return a PrimFunc with the remaining extents."""
        axes = {
            buffer: {axis: len(indices) for axis, indices in own.items()}
            for buffer, own in self.axes.items()
        }
        return resized(func, axes, {i: len(indices) for i, indices in self.iterators.items()})


def _indices(nest: Nest) -> Iterator[tuple[Var, int, tirx.Expr]]:
    """Yield each index of the loads and of the store, with its buffer and axis."""
    accesses = [(load.source, load.indices) for load in nest.loads]
    for buffer, indices in [*accesses, (nest.buffer, nest.indices)]:
        for axis, index in enumerate(indices):
            yield buffer, axis, index


def _divided(index: tirx.Expr) -> tuple[Var | None, int]:
    """Split an index `iterator // divisor`; the iterator is None for other indices."""
    divisor = 1
    if isinstance(index, tirx.FloorDiv) and isinstance(index.b, tirx.IntImm):
        index, divisor = index.a, int(index.b)
    return (index, divisor) if isinstance(index, Var) else (None, 1)


def _without_loads(expr: tirx.Expr) -> tirx.Expr:
    """Replace the loads of an expression by zeros."""
    return tvm_ffi.structural_map(
        expr, (TensorLoad, lambda load: tirx.const(0, str(load.ty.dtype)))
    )
