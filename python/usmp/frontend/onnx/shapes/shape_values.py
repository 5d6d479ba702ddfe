"""What a graph computes of shapes that depend on sizes which only the run knows.

Exporters write shapes as graphs of Shape, Gather, Concat and the like. Their values are computed
here as expressions of the sizes, element by element; what cannot be told for all sizes between
their bounds is no such value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import onnx
import tvm_ffi
from tvm import relax, te, tirx
from tvm.ir import Expr, GenericConst, Var
from tvm.sym import Analyzer

from usmp.frontend.onnx.graph.nodes import is_of_onnx
from usmp.frontend.onnx.rewrites.fold import MOST_ELEMENTS, evaluated, is_evaluated
from usmp.ops.emit import call_operator
from usmp.tir.nodes import nodes_of

Values: TypeAlias = np.ndarray
"""Of objects: numbers, and expressions of sizes; or an array of a number type."""


class Undecided(Exception):
    """The value depends on the sizes in a way that no expression here has."""


class ShapeValues:
    """The values of the tensors of a graph that are computed of shapes.

    Parameters
    ----------
    analyzer
        knows the bounds of the sizes.
    opsets
        of the model.
    """

    def __init__(self, analyzer: Analyzer, opsets: Sequence[onnx.OperatorSetIdProto]) -> None:
        self.analyzer = analyzer
        self._opsets = opsets
        self._known: dict[str, Values] = {}
        self._tensors: dict[str, Expr] = {}

    def computed(
        self, node: onnx.NodeProto, inputs: Sequence[Any], attributes: Mapping[str, Any]
    ) -> Expr | None:
        """The output of a node that is computed of shapes: a constant, or a variable that stands
        for what depends on sizes; None of other nodes.

        Parameters
        ----------
        inputs
            what each input is in Relax.
        """
        values = self._evaluated(node, inputs, attributes)
        if values is None or values.size > MOST_ELEMENTS:
            return None
        self._known[node.output[0]] = values
        if values.dtype != object:
            return relax.const(values, str(values.dtype))
        return relax.Var(node.output[0], relax.TensorType(values.shape, "int64"))

    def as_tensors(
        self, builder: relax.BlockBuilder, names: Sequence[str], inputs: Sequence[Any]
    ) -> list[Any]:
        """The inputs of a node, with tensors that are computed when the model runs in the place of
        what depends on sizes."""
        return [
            self.as_tensor(builder, name, each) for name, each in zip(names, inputs, strict=True)
        ]

    def as_tensor(self, builder: relax.BlockBuilder, name: str, tensor: Any) -> Any:
        """The same of one tensor."""
        values = self._known.get(name)
        if values is None or values.dtype != object:
            return tensor
        if name not in self._tensors:
            self._tensors[name] = builder.emit(_sizes_tensor(builder, values))
        return self._tensors[name]

    def value(self, name: str, tensor: Any) -> Values | None:
        """The value of a tensor that is constant, or computed of shapes."""
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
        values = [self.value(n, each) for n, each in zip(node.input, inputs, strict=True)]
        if any(v is None and name for v, name in zip(values, node.input, strict=True)):
            return None
        if all(value is None or value.dtype != object for value in values):
            return self._of_numbers(node, values)
        operation = _OPERATIONS.get(node.op_type)
        if operation is None:
            return None
        try:
            return _plain(operation(self.analyzer, values, attributes))
        except (Undecided, ValueError, IndexError, TypeError, KeyError):
            # What does not go together, the converter of the operator refuses.
            return None

    def _shape(self, operator: str, tensor: Any, attributes: Mapping[str, Any]) -> Values | None:
        shape = getattr(getattr(tensor, "ty", None), "shape", None)
        if shape is None or not hasattr(shape, "values"):
            return None
        extents = [_number(extent) for extent in shape.values]
        if operator == "Size":
            return _plain(_array(reduce(lambda a, b: a * b, extents, 1)))
        extents = extents[int(attributes.get("start", 0)) : attributes.get("end")]
        return _plain(_array(extents))

    def _of_numbers(self, node: onnx.NodeProto, values: Sequence[Values | None]) -> Values | None:
        if not is_evaluated(node):
            return None
        given = {n: v for n, v in zip(node.input, values, strict=True) if v is not None}
        results = evaluated(node, self._opsets, given)
        return None if results is None else results[0]


def _sizes_tensor(builder: relax.BlockBuilder, values: Values) -> Expr:
    """A tensor of int64 that a run computes of its sizes."""
    elements = [_int64(value) for value in values.reshape(-1)]
    used: list[Var] = []
    for variable in (v for element in elements for v in nodes_of(element, Var)):
        if not any(variable.same_as(each) for each in used):
            used.append(variable)

    def compute(*sizes: tirx.Var) -> te.Tensor:
        own = list(zip(used, sizes, strict=True))

        def replace(variable: Var) -> tirx.Expr:
            return next((size for each, size in own if each.same_as(variable)), variable)

        def element(*at: tirx.Var) -> tirx.Expr:
            position: Any = 0
            for extent, index in zip(values.shape, at, strict=True):
                position = position * extent + index
            *others, result = (tvm_ffi.structural_map(each, (Var, replace)) for each in elements)
            for number, value in reversed(list(enumerate(others))):
                result = tirx.Select(position == number, value, result)
            return result

        return te.compute(values.shape, element, "output")

    return call_operator(builder, "sizes", compute, used)


def _number(extent: Any) -> Any:
    return int(extent) if isinstance(extent, tirx.IntImm) else extent


def _array(values: Any) -> Values:
    """An array of objects, of the shape of nested lists."""
    array = np.empty(np.shape(values) if isinstance(values, list) else (), object)
    array[...] = values
    return array


def _plain(values: Any) -> Values:
    """An array of int64 if all are numbers."""
    given = np.asarray(values, object)
    flat = np.empty(given.size, object)
    for index, value in enumerate(given.reshape(-1)):
        flat[index] = _number(_as_python(value))
    if all(isinstance(value, bool) for value in flat):
        return flat.astype(bool).reshape(given.shape)
    if all(isinstance(value, int) for value in flat):
        return flat.astype(np.int64).reshape(given.shape)
    return flat.reshape(given.shape)


Operation: TypeAlias = Callable[[Analyzer, Sequence[Any], Mapping[str, Any]], Any]


def _each(function: Callable[[Analyzer, Any, Any], Any]) -> Operation:
    """An operation on each pair of elements."""

    def operation(analyzer: Analyzer, values: Sequence[Any], _: Mapping[str, Any]) -> Any:
        pairs = np.broadcast_arrays(*(np.asarray(v, object) for v in values))
        result = np.empty(pairs[0].shape, object)
        for at in np.ndindex(result.shape):
            elements = [_number(_as_python(pair[at])) for pair in pairs]
            result[at] = reduce(
                lambda a, b: _simplified(analyzer, function(analyzer, a, b)), elements
            )
        return result

    return operation


def _as_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _simplified(analyzer: Analyzer, value: Any) -> Any:
    return _number(analyzer.simplify(value)) if isinstance(value, Expr) else value


def _int64(value: Any) -> Any:
    return value if isinstance(value, Expr) else tirx.IntImm("int64", value)


def _quotient(analyzer: Analyzer, a: Any, b: Any) -> Any:
    """ONNX divides towards zero, which is downwards where nothing is negative."""
    _check_not_negative(analyzer, a, b)
    return tirx.floordiv(_int64(a), _int64(b))


def _remainder(analyzer: Analyzer, a: Any, b: Any) -> Any:
    _check_not_negative(analyzer, a, b)
    return tirx.floormod(_int64(a), _int64(b))


def _check_not_negative(analyzer: Analyzer, a: Any, b: Any) -> None:
    if not analyzer.can_prove(_int64(a) >= 0) or not analyzer.can_prove(_int64(b) > 0):
        raise Undecided


def decided(analyzer: Analyzer, condition: Any) -> bool:
    """Whether a condition holds for all sizes, or for none.

    Raises
    ------
    Undecided
        it depends on the sizes.
    """
    if isinstance(condition, bool | np.bool_):
        return bool(condition)
    if analyzer.can_prove(condition):
        return True
    if analyzer.can_prove(tirx.Not(condition)):
        return False
    raise Undecided


def _compared(function: Callable[[Any, Any], Any]) -> Operation:
    return _each(lambda analyzer, a, b: decided(analyzer, function(_int64(a), _int64(b))))


def _where(analyzer: Analyzer, values: Sequence[Any], _: Mapping[str, Any]) -> Any:
    condition, then, other = np.broadcast_arrays(*(np.asarray(v, object) for v in values))
    result = np.empty(condition.shape, object)
    for at in np.ndindex(result.shape):
        result[at] = then[at] if decided(analyzer, condition[at]) else other[at]
    return result


def _cast(analyzer: Analyzer, values: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    # Sizes fit 31 bits, but what is computed of them need not.
    if int(attributes["to"]) != onnx.TensorProto.INT64:
        raise Undecided
    return values[0]


def _gather(analyzer: Analyzer, values: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    return np.take(values[0], _numbers(values[1]), axis=int(attributes.get("axis", 0)))


def _slice(analyzer: Analyzer, values: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    data, starts, ends, *more = values
    axes = _numbers(more[0]) if more and more[0] is not None else np.arange(len(starts))
    steps = _numbers(more[1]) if len(more) > 1 and more[1] is not None else np.ones(len(starts))
    window = [slice(None)] * data.ndim
    for start, end, axis, step in zip(_numbers(starts), _numbers(ends), axes, steps, strict=True):
        window[int(axis)] = slice(int(start), int(end), int(step))
    return data[tuple(window)]


def _concat(analyzer: Analyzer, values: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    arrays = [np.asarray(value, object) for value in values]
    return np.concatenate(arrays, axis=int(attributes["axis"]))


def _squeeze(analyzer: Analyzer, values: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    axes = _axes(values, attributes)
    return np.squeeze(values[0], None if axes is None else tuple(axes))


def _unsqueeze(analyzer: Analyzer, values: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    axes = _axes(values, attributes)
    if axes is None:
        raise Undecided
    return np.expand_dims(values[0], tuple(axes))


def _reshape(analyzer: Analyzer, values: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    shape = [int(extent) for extent in _numbers(values[1])]
    if 0 in shape:
        raise Undecided
    return values[0].reshape(shape)


def _product(analyzer: Analyzer, values: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    axes = _axes(values, attributes)
    if axes is not None and axes != [0]:
        raise Undecided
    product = reduce(lambda a, b: _simplified(analyzer, a * b), values[0].reshape(-1), 1)
    return _array([product] if int(attributes.get("keepdims", 1)) else product)


def _axes(values: Sequence[Any], attributes: Mapping[str, Any]) -> list[int] | None:
    if "axes" in attributes:
        return [int(axis) for axis in attributes["axes"]]
    if len(values) < 2 or values[1] is None:
        return None
    return [int(axis) for axis in _numbers(values[1])]


def _numbers(values: Any) -> np.ndarray:
    """Positions must be numbers."""
    if values.dtype == object:
        raise Undecided
    numbers: np.ndarray = values
    return numbers


_OPERATIONS: dict[str, Operation] = {
    "Add": _each(lambda _, a, b: a + b),
    "Cast": _cast,
    "Concat": _concat,
    "Div": _each(_quotient),
    "Equal": _compared(tirx.EQ),
    "Gather": _gather,
    "Greater": _compared(lambda a, b: a > b),
    "GreaterOrEqual": _compared(lambda a, b: a >= b),
    "Identity": lambda _, values, __: values[0],
    "Less": _compared(lambda a, b: a < b),
    "LessOrEqual": _compared(lambda a, b: a <= b),
    "Max": _each(lambda _, a, b: tirx.max(_int64(a), _int64(b))),
    "Min": _each(lambda _, a, b: tirx.min(_int64(a), _int64(b))),
    "Mod": _each(_remainder),
    "Mul": _each(lambda _, a, b: a * b),
    "ReduceProd": _product,
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _each(lambda _, a, b: a - b),
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
