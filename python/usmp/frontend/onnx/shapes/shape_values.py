"""Symbolic evaluation of the shape arithmetic of a graph with dynamic sizes.

Exporters write shapes as graphs of Shape, Gather, Concat and the like. Arithmetic is evaluated here
element by element, on expressions of the sizes. Where an operator only moves elements, ONNX's
evaluator is applied to their indices. Results without one expression for all sizes are not
evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

import numpy as np
import onnx
import tvm_ffi
from tvm import relax, te, tirx
from tvm.ir import Expr, GenericConst, Var

from usmp.frontend.onnx.graph.nodes import is_of_onnx
from usmp.frontend.onnx.rewrites.fold import evaluated, is_evaluated
from usmp.frontend.size_arithmetic import (
    MOST_ELEMENTS,
    SizeArithmetic,
    SizesError,
    int64,
    number,
    product,
)
from usmp.ops.emit import call_operator
from usmp.tir.nodes import nodes_of

Values: TypeAlias = np.ndarray
"""An array of a number type, or of objects: numbers, and expressions of sizes."""
Compute: TypeAlias = Callable[[SizeArithmetic, Any, Any], Any]


class ShapeValues:
    """The values of the tensors that a graph computes from shapes.

    Parameters
    ----------
    arithmetic
        the arithmetic on sizes.
    opsets
        the opsets of the model.
    """

    def __init__(
        self, arithmetic: SizeArithmetic, opsets: Sequence[onnx.OperatorSetIdProto]
    ) -> None:
        self.arithmetic = arithmetic
        self._opsets = opsets
        self._known: dict[str, Values] = {}
        self._tensors: dict[str, Expr] = {}

    def computed(
        self, node: onnx.NodeProto, inputs: Sequence[Any], attributes: Mapping[str, Any]
    ) -> Expr | None:
        """Evaluate a node on shapes to a constant, or to a variable if its value depends on sizes;
        return None for other nodes.

        Parameters
        ----------
        inputs
            the converted inputs, in Relax.
        """
        try:
            values = self._evaluated(node, inputs, attributes)
        except (SizesError, ValueError, TypeError, LookupError, OverflowError):
            # The operator's converter reports inconsistent inputs.
            return None
        if values is None or values.size > MOST_ELEMENTS:
            return None
        self._known[node.output[0]] = values
        if values.dtype != object:
            return relax.const(values, str(values.dtype))
        return relax.Var(node.output[0], relax.TensorType(values.shape, "int64"))

    def as_tensors(
        self, builder: relax.BlockBuilder, names: Sequence[str], inputs: Sequence[Any]
    ) -> list[Any]:
        """Return the inputs of a node, with run-time tensors for values that depend on sizes."""
        return [
            self.as_tensor(builder, name, expr) for name, expr in zip(names, inputs, strict=True)
        ]

    def as_tensor(self, builder: relax.BlockBuilder, name: str, tensor: Any) -> Any:
        """Return a tensor, or a run-time tensor if its value depends on sizes."""
        values = self._known.get(name)
        if values is None or values.dtype != object:
            return tensor
        if name not in self._tensors:
            self._tensors[name] = builder.emit(_sizes_tensor(builder, values))
        return self._tensors[name]

    def value(self, name: str, tensor: Any) -> Values | None:
        """Return the value of a small constant or of a tensor computed from shapes, else None."""
        if name in self._known:
            return self._known[name]
        if isinstance(tensor, GenericConst):
            array: np.ndarray = tensor.value.numpy()
            return array if array.size <= MOST_ELEMENTS else None
        return None

    def _evaluated(
        self, node: onnx.NodeProto, inputs: Sequence[Any], attributes: Mapping[str, Any]
    ) -> Values | None:
        if len(node.output) != 1 or not is_of_onnx(node):
            return None
        if node.op_type in ("Shape", "Size"):
            return self._shape(node.op_type, inputs[0], attributes)
        if not any(name in self._known for name in node.input):
            return None
        named = {n: self.value(n, expr) for n, expr in zip(node.input, inputs, strict=True) if n}
        values = {name: value for name, value in named.items() if value is not None}
        if len(values) < len(named):
            return None
        if all(value.dtype != object for value in values.values()):
            return self._numeric(node, values)
        if node.op_type in _ARITHMETIC:
            return self._elements(_ARITHMETIC[node.op_type], [values[name] for name in node.input])
        # Sizes fit into 31 bits, but results of arithmetic on sizes may not.
        is_narrow = node.op_type == "Cast" and attributes["to"] != onnx.TensorProto.INT64
        return None if is_narrow or node.op_type not in _MOVED else self._moved(node, values)

    def _shape(self, operator: str, tensor: Any, attributes: Mapping[str, Any]) -> Values | None:
        shape = getattr(getattr(tensor, "ty", None), "shape", None)
        if shape is None or not hasattr(shape, "values"):
            return None
        extents = [number(extent) for extent in shape.values]
        if operator == "Size":
            return _array([product(extents)], ())
        extents = extents[int(attributes.get("start", 0)) : attributes.get("end")]
        return _array(extents, (len(extents),))

    def _numeric(self, node: onnx.NodeProto, values: Mapping[str, Values]) -> Values | None:
        results = evaluated(node, self._opsets, values) if is_evaluated(node) else None
        return None if results is None else results[0]

    def _elements(self, compute: Compute, operands: Sequence[Values]) -> Values | None:
        """Return the element-wise result of `compute` on broadcast operands."""
        if prod(np.broadcast_shapes(*(operand.shape for operand in operands))) > MOST_ELEMENTS:
            return None
        sizes = self.arithmetic
        element_wise = np.frompyfunc(lambda a, b: sizes.simplified(compute(sizes, a, b)), 2, 1)
        result = np.asarray(reduce(element_wise, operands), object)
        return _array(result.reshape(-1).tolist(), result.shape)

    def _moved(self, node: onnx.NodeProto, values: Mapping[str, Values]) -> Values | None:
        """Return the moved elements of some inputs; ONNX's evaluator moves their indices."""
        moved = node.input[_MOVED[node.op_type]]
        others = Counter(node.input) - Counter(moved)
        if any(name and (name in moved or values[name].dtype == object) for name in others):
            return None
        elements: list[Any] = []
        places = dict(values)
        for name in moved:
            array = values[name]
            last = len(elements) + array.size
            places[name] = np.arange(len(elements), last).reshape(array.shape)
            elements += array.reshape(-1).tolist()
        result = self._numeric(node, places)
        if result is None:
            return None
        if node.op_type == "ReduceProd":
            whole = self.arithmetic.simplified(product(elements))
            return _array([whole], result.shape) if result.size == 1 else None
        return _array([elements[place] for place in result.reshape(-1)], result.shape)


def _sizes_tensor(builder: relax.BlockBuilder, values: Values) -> Expr:
    """Return an operator that computes a tensor of int64 from the sizes of a run."""
    elements = [int64(value) for value in values.reshape(-1)]
    used = list(dict.fromkeys(v for element in elements for v in nodes_of(element, Var)))

    def compute(*sizes: tirx.Var) -> te.Tensor:
        params = dict(zip(used, sizes, strict=True))

        def replace(variable: Var) -> tirx.Expr:
            return params.get(variable, variable)

        def element(*at: tirx.Var) -> tirx.Expr:
            position: Any = 0
            for extent, index in zip(values.shape, at, strict=True):
                position = position * extent + index
            *others, result = (tvm_ffi.structural_map(expr, (Var, replace)) for expr in elements)
            for place, value in reversed(list(enumerate(others))):
                result = tirx.Select(position == place, value, result)
            return result

        return te.compute(values.shape, element, "output")

    return call_operator(builder, "sizes", compute, used)


def _array(elements: Sequence[Any], shape: tuple[int, ...]) -> Values:
    """Return an array of the elements, as int64 or bool if all are numbers.

    Raises
    ------
    OverflowError
        a number does not fit into int64.
    """
    numbers = np.array([element for element in elements if isinstance(element, int)], np.int64)
    if numbers.size < len(elements):
        return np.array(elements, object).reshape(shape)
    is_bool = {type(element) for element in elements} == {bool}
    return (numbers.astype(bool) if is_bool else numbers).reshape(shape)


def _quotient(arithmetic: SizeArithmetic, a: Any, b: Any) -> Any:
    """Return the floor division, which equals ONNX's truncation as no operand may be negative."""
    _check_not_negative(arithmetic, a, b)
    return tirx.floordiv(int64(a), int64(b))


def _remainder(arithmetic: SizeArithmetic, a: Any, b: Any) -> Any:
    _check_not_negative(arithmetic, a, b)
    return tirx.floormod(int64(a), int64(b))


def _check_not_negative(arithmetic: SizeArithmetic, a: Any, b: Any) -> None:
    if not arithmetic.is_at_most(0, a) or not arithmetic.is_at_most(1, b):
        raise SizesError("a quotient of what may be negative")


def _compared(compare: Callable[[Any, Any], Any]) -> Compute:
    return lambda arithmetic, a, b: arithmetic.decided(compare(int64(a), int64(b)))


_ARITHMETIC: dict[str, Compute] = {
    "Add": lambda _, a, b: a + b,
    "Div": _quotient,
    "Equal": _compared(tirx.EQ),
    "Greater": _compared(gt),
    "GreaterOrEqual": _compared(ge),
    "Less": _compared(lt),
    "LessOrEqual": _compared(le),
    "Max": lambda _, a, b: tirx.max(int64(a), int64(b)),
    "Min": lambda _, a, b: tirx.min(int64(a), int64(b)),
    "Mod": _remainder,
    "Mul": lambda _, a, b: a * b,
    "Sub": lambda _, a, b: a - b,
}
_FIRST = slice(1)
_MOVED: dict[str, slice] = {
    "Cast": _FIRST,
    "Concat": slice(None),
    "Gather": _FIRST,
    "Identity": _FIRST,
    "ReduceProd": _FIRST,
    "Reshape": _FIRST,
    "Slice": _FIRST,
    "Squeeze": _FIRST,
    "Unsqueeze": _FIRST,
    "Where": slice(1, 3),
}
"""Operator -> the inputs whose elements it moves, to positions that depend on shapes alone."""
