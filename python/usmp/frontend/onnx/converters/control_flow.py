"""Converters of ONNX `Scan`, `Loop` and `If`: nested graphs become bodies of control flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper
from tvm import relax
from tvm.ir import Expr, GenericConst, IRModule

from usmp.frontend.onnx.graph.axes import axis_of
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.frontend.onnx.graph.nodes import names_read
from usmp.ops.control_flow import MOST_TRIPS, ControlFlow, call_control_flow
from usmp.ops.emit import dtype_of, shape_of
from usmp.relax.static_shapes import flatten_types, has_static_shape, main_function
from usmp.tir.nodes import nodes_of

CHOICE = "Choice"
"""The name of `If` during the import, so that TVM's importer does not convert it."""

_FIRST_SCAN = 9
"""The first supported opset of Scan: version 8 has a batch axis, and is untested."""


@dataclass(frozen=True)
class Scope:
    """The scope of the nested graphs of a node.

    Parameters
    ----------
    proto
        the node in the file.
    values
        the tensors that nested graphs can capture, by name.
    import_graph
        imports a graph with typed inputs as the `main` of a module.
    """

    proto: onnx.NodeProto
    values: Mapping[str, Expr]
    import_graph: Callable[[onnx.GraphProto], IRModule]

    def graph(self, name: str) -> onnx.GraphProto:
        """Return a copy of the graph in an attribute of the node.

        Raises
        ------
        NotSupported
            the node does not have the attribute.
        """
        graphs = [a.g for a in self.proto.attribute if a.name == name]
        if not graphs:
            raise NotSupported(f"it has no graph {name}")
        copy = onnx.GraphProto()
        copy.CopyFrom(graphs[0])
        return copy

    def captured(self, graphs: Sequence[onnx.GraphProto]) -> list[str]:
        """Return the names of the non-constant outer tensors that the graphs read."""
        reading = helper.make_node("If", [], [], **{f"g{i}": g for i, g in enumerate(graphs)})
        read = sorted(names_read(reading) & self.values.keys())
        return [name for name in read if not isinstance(self.values[name], GenericConst)]

    def body(
        self,
        graph: onnx.GraphProto,
        types: Sequence[relax.TensorType | np.ndarray],
        captured: Sequence[str],
    ) -> IRModule:
        """Import a graph as a function of its inputs and, after them, the captured tensors.

        Parameters
        ----------
        types
            the types of the graph's inputs; an array is the value of a constant input.

        Raises
        ------
        NotSupported
            the graph has another number of inputs.
        """
        if len(graph.input) != len(types):
            raise NotSupported(f"its graph has {len(graph.input)} inputs, and needs {len(types)}")
        inputs, constants = [], []
        for value, ty in zip(graph.input, types, strict=True):
            if isinstance(ty, np.ndarray):
                constants.append(numpy_helper.from_array(ty, value.name))
            else:
                inputs.append(_value_info(value.name, ty))
        own = {value.name for value in (*graph.input, *graph.initializer)}
        inputs += [_value_info(name, self.values[name].ty) for name in captured]
        reading = helper.make_node("If", [], [], g=graph)
        for name in sorted((names_read(reading) & self.values.keys()) - own):
            value = self.values[name]
            if isinstance(value, GenericConst):
                constants.append(numpy_helper.from_array(value.value.numpy(), name))
        del graph.input[:]
        graph.input.extend(inputs)
        graph.initializer.extend(constants)
        _give_outputs_nodes(graph)
        mod = self.import_graph(graph)
        if len(main_function(mod).params) != len(inputs):
            raise NotSupported("inputs of its graph are used in a way that is not known")
        return mod


def convert_control_flow(node: OnnxNode, scope: Scope) -> Expr:
    """Convert a `Scan`, a `Loop` or an `If`.

    Raises
    ------
    NotSupported
        the number of iterations, or the shape of a result, is unknown at compile time.
    """
    results = _CONVERTERS[scope.proto.op_type](node, scope)
    if len(results) < node.outputs:
        raise NotSupported(f"it has {node.outputs} outputs, and its graph gives {len(results)}")
    return results[0] if node.outputs == 1 else relax.Tuple(results[: node.outputs])


def _choice(node: OnnxNode, scope: Scope) -> list[Expr]:
    condition = node.required(0)
    if dtype_of(condition) != "bool" or int(np.prod(shape_of(condition))) != 1:
        raise NotSupported(f"its condition is {condition.ty}; it must be one bool")
    graphs = [scope.graph(name) for name in ("then_branch", "else_branch")]
    captured = scope.captured(graphs)
    bodies = tuple(scope.body(graph, [], captured) for graph in graphs)
    types, others = (_results(body) for body in bodies)
    for one, other in zip(types, others, strict=False):
        if _type_text(one) != _type_text(other):
            raise NotSupported(
                f"its branches give {_type_text(one)} and {_type_text(other)}; which of them runs "
                "must be known at compile time, or both must give the same shapes"
            )
    if len(types) != len(others):
        raise NotSupported("its branches give other numbers of outputs")
    arguments = [condition, *(scope.values[name] for name in captured)]
    name = "if_then_else"
    return call_control_flow(node.builder, name, ControlFlow(bodies), arguments, types)


def _loop(node: OnnxNode, scope: Scope) -> list[Expr]:
    trips = node.constant(0, "its number of iterations (input 0)")
    condition = node.constant(1, "its condition (input 1)")
    if trips is None:
        raise NotSupported(
            "it has no number of iterations (input 0), so its results have no static size; export "
            "it with a constant one"
        )
    if trips.dtype != np.int64 or trips.size != 1:
        raise NotSupported(
            f"its number of iterations (input 0) is {_array_text(trips)}, not one int64"
        )
    if not 0 < int(trips.item()) <= MOST_TRIPS:
        raise NotSupported(f"it has {trips.item()} iterations; supported: 1 to {MOST_TRIPS}")
    if condition is not None and (condition.dtype != bool or condition.size != 1):
        raise NotSupported(f"its condition (input 1) is {_array_text(condition)}, not one bool")
    if condition is not None and not condition.item():
        raise NotSupported("its condition (input 1) is false, so that it never runs; remove it")
    carried = [node.required(index) for index in range(2, len(node.inputs))]
    graph = scope.graph("body")
    captured = scope.captured([graph])
    # By induction, the loop runs all its trips if a true condition stays true in an iteration.
    types = [relax.TensorType((), "int64"), np.array(True), *(value.ty for value in carried)]
    goes_on = onnx.GraphProto()
    goes_on.CopyFrom(graph)
    del goes_on.output[1:]
    if not _is_true(scope.body(goes_on, types, captured)):
        raise NotSupported(
            "its body computes whether it goes on; only a constant true condition is supported, "
            "since the sizes of results are planned at compile time"
        )
    del graph.output[:1]
    body = scope.body(graph, types, captured)
    flow = ControlFlow((body,), int(trips.item()), len(carried), counts=True)
    return _append_loop(node, scope, flow, carried, [], captured)


def _scan(node: OnnxNode, scope: Scope) -> list[Expr]:
    if node.opset < _FIRST_SCAN:
        raise NotSupported(f"it is of opset {node.opset}; export it with opset {_FIRST_SCAN}")
    scanned = int(node.attributes.get("num_scan_inputs", 0))
    count = len(node.inputs) - scanned
    if scanned < 1 or count < 0:
        raise NotSupported(f"it has {len(node.inputs)} inputs, and scans {scanned}")
    graph = scope.graph("body")
    results = len(graph.output) - count
    if results < 0:
        raise NotSupported(f"its body has {len(graph.output)} outputs for {count} carried tensors")
    carried = [node.required(index) for index in range(count)]
    whole = []
    for place, index in enumerate(range(count, len(node.inputs))):
        axis, is_reversed = _direction(node, "input", place, scanned)
        whole.append(_move_axis(node, node.required(index), axis, 0, is_reversed))
    lengths = {shape_of(tensor)[0] for tensor in whole}
    if len(lengths) != 1 or lengths == {0}:
        raise NotSupported(
            f"its scanned inputs have {sorted(lengths)} steps; all must have as many, at least one"
        )
    rows = [relax.TensorType(shape_of(tensor)[1:], dtype_of(tensor)) for tensor in whole]
    captured = scope.captured([graph])
    body = scope.body(graph, [*(value.ty for value in carried), *rows], captured)
    flow = ControlFlow((body,), lengths.pop(), count, scanned)
    outputs = _append_loop(node, scope, flow, carried, whole, captured)
    for place in range(results):
        axis, is_reversed = _direction(node, "output", place, results)
        outputs[count + place] = _move_axis(node, outputs[count + place], 0, axis, is_reversed)
    return outputs


def _append_loop(
    node: OnnxNode,
    scope: Scope,
    flow: ControlFlow,
    carried: Sequence[Expr],
    whole: Sequence[Expr],
    captured: Sequence[str],
) -> list[Expr]:
    """Append a loop and return its results: carried tensors, then stacked outputs."""
    after = _results(flow.bodies[0])
    for index, (before, ty) in enumerate(zip(carried, after, strict=False)):
        if _type_text(before.ty) != _type_text(ty):
            raise NotSupported(
                f"carried tensor {index} is {_type_text(before.ty)} before an iteration and "
                f"{_type_text(ty)} after it; its size must stay the same"
            )
    if len(after) < len(carried):
        raise NotSupported(f"its body gives {len(after)} tensors, and takes {len(carried)}")
    types = [
        relax.TensorType((flow.trips, *map(int, ty.shape)), str(ty.dtype))
        for ty in after[len(carried) :]
    ]
    for ty in types:
        limits = node.builder.limits
        limits.check_tensor("its result", list(ty.shape), np.dtype(str(ty.dtype)).itemsize)
    arguments = [*carried, *whole, *(scope.values[name] for name in captured)]
    return call_control_flow(node.builder, scope.proto.op_type.lower(), flow, arguments, types)


def _direction(node: OnnxNode, role: str, place: int, count: int) -> tuple[int, bool]:
    """Return the axis of a scanned tensor, and whether the scan is reversed."""
    axes = list(node.attributes.get(f"scan_{role}_axes") or [0] * count)
    directions = list(node.attributes.get(f"scan_{role}_directions") or [0] * count)
    if len(axes) != count or len(directions) != count:
        raise NotSupported(f"its scan_{role}_axes or directions are not {count}")
    if directions[place] not in (0, 1):
        raise NotSupported(f"its scan_{role}_directions are {directions}; each is 0 or 1")
    return int(axes[place]), bool(directions[place])


def _move_axis(node: OnnxNode, tensor: Expr, source: int, target: int, is_reversed: bool) -> Expr:
    """Move the axis `source` of a tensor to `target`; reverse the axis if `is_reversed`."""
    rank = len(shape_of(tensor))
    source, target = (axis_of(axis, rank, "a tensor") for axis in (source, target))
    if is_reversed:
        tensor = node.builder.emit(relax.op.flip(tensor, source))
    if source != target:
        order = [axis for axis in range(rank) if axis != source]
        order.insert(target, source)
        tensor = node.builder.emit(relax.op.permute_dims(tensor, order))
    return tensor


def _give_outputs_nodes(graph: onnx.GraphProto) -> None:
    """Write each output by an Identity node; otherwise it may be an input, constant or repeated."""
    names = {name for node in graph.node for name in (*node.input, *node.output)}
    names |= {value.name for value in (*graph.input, *graph.initializer, *graph.output)}
    for index, output in enumerate(graph.output):
        name = f"result_{index}"
        while name in names:
            name += "_"
        names.add(name)
        graph.node.append(helper.make_node("Identity", [output.name], [name]))
        output.name = name


def _is_true(body: IRModule) -> bool:
    """Return whether the only result of a body is the constant true."""
    main = main_function(body)
    bound = {binding.var: binding.value for binding in nodes_of(main.body, relax.VarBinding)}
    result = main.body.body
    while result in bound:
        result = bound[result]
    if not isinstance(result, GenericConst):
        return False
    value = result.value.numpy()
    return value.dtype == bool and value.size == 1 and bool(value.item())


def _value_info(name: str, ty: relax.TensorType) -> onnx.ValueInfoProto:
    if not isinstance(ty, relax.TensorType) or not has_static_shape(ty):
        raise NotSupported(f'its graph reads "{name}", which is no tensor of static shape')
    if 0 in map(int, ty.shape):
        # In the type of a graph's input, an extent of 0 means an unknown extent.
        raise NotSupported(f'its graph reads "{name}", {_type_text(ty)}, which has no elements')
    element = helper.np_dtype_to_tensor_dtype(np.dtype(str(ty.dtype)))
    return helper.make_tensor_value_info(name, element, [int(extent) for extent in ty.shape])


def _results(body: IRModule) -> list[relax.TensorType]:
    return flatten_types(main_function(body).body.body.ty)


def _array_text(value: np.ndarray) -> str:
    return f"{value.dtype}{list(value.shape)}"


def _type_text(ty: relax.TensorType) -> str:
    return f"{ty.dtype}{[int(extent) for extent in ty.shape]}"


_CONVERTERS = {CHOICE: _choice, "Loop": _loop, "Scan": _scan}
CONTROL_FLOW = frozenset(_CONVERTERS)
"""Operators that `convert_control_flow` converts."""
