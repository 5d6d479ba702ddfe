"""TFLite files of several signatures that share variables."""

from __future__ import annotations

import numpy as np

from support.quantized_models.model import Spec
from support.tflite_builder import Graph, Quantization, Signature, options, write_model

REAL = Spec((1, 4), 0, 0, "float32")
INTEGER = Spec((1, 4), 0.05, -7)
START = np.array([[3, -1, 4, 1]])


def handle(graph: Graph, name: str = "v", container: str = "") -> int:
    """What stands for a variable in a graph."""
    tensor = graph.tensor((), "resource", name=f"{name}_{len(graph.tensors)}")
    table = options("VarHandleOptions", shared_name=name, container=container)
    graph.operator("VAR_HANDLE", [], [tensor], table)
    return tensor


def read(graph: Graph, variable: int, spec: Spec = REAL, name: str | None = None) -> int:
    """The content of a variable at this point."""
    value = graph.tensor(spec.shape, spec.dtype, spec.quantization, name=name)
    graph.operator("READ_VARIABLE", [variable], [value], options("ReadVariableOptions"))
    return value


def assign(graph: Graph, variable: int, value: int) -> None:
    """Give a variable another content."""
    graph.operator("ASSIGN_VARIABLE", [variable, value], [], options("AssignVariableOptions"))


def call_once(graph: Graph, number: int) -> None:
    """Run another graph before the first run."""
    graph.operator("CALL_ONCE", [], [], options("CallOnceOptions", init_subgraph_index=number))


def initialization(start: np.ndarray, quantization: Quantization | None = None) -> Graph:
    """A graph that sets the variable `v`."""
    graph = Graph("once")
    assign(graph, handle(graph), graph.constant(start, quantization))
    return graph


def summing(spec: Spec = REAL, once: int | None = None) -> Graph:
    """Adds the input x to the variable v; the output y is the sum."""
    graph = Graph("step")
    if once is not None:
        call_once(graph, once)
    x = graph.input(spec.shape, spec.dtype, spec.quantization, name="x")
    variable = handle(graph)
    y = graph.tensor(spec.shape, spec.dtype, spec.quantization, name="y")
    graph.operator("ADD", [read(graph, variable, spec), x], [y], options("AddOptions"))
    assign(graph, variable, y)
    graph.output(y)
    return graph


def reading(spec: Spec = REAL, once: int | None = None) -> Graph:
    """The output k is the variable v."""
    graph = Graph("peek")
    if once is not None:
        call_once(graph, once)
    graph.output(read(graph, handle(graph), spec, "k"))
    return graph


def clearing(value: np.ndarray, quantization: Quantization | None = None) -> Graph:
    """Assigns a constant to the variable v; no inputs, no outputs."""
    graph = Graph("clear")
    assign(graph, handle(graph), graph.constant(value, quantization))
    return graph


def doubling(spec: Spec = REAL) -> Graph:
    """The output y is x + x; no variable."""
    graph = Graph("twice")
    x = graph.input(spec.shape, spec.dtype, spec.quantization, name="x")
    y = graph.tensor(spec.shape, spec.dtype, spec.quantization, name="y")
    graph.operator("ADD", [x, x], [y], options("AddOptions"))
    graph.output(y)
    return graph


def two_signatures(first: Graph, second: Graph, *others: Graph) -> bytes:
    """A file in which the first two graphs are the signatures `a` and `b`."""
    signatures = [Signature("a", 0), Signature("b", 1)]
    return write_model(first, second, *others, signatures=signatures)


def counter_file(spec: Spec = REAL) -> bytes:
    """Four signatures: `step` and `peek` are initialized, `clear` sets, `twice` has no state.

    The names in the signatures are others than those of the tensors.
    """
    start = START.astype(spec.dtype)
    zeros = np.full(spec.shape, spec.zero_point, spec.dtype)
    step, peek = summing(spec, 4), reading(spec, 4)
    return write_model(
        step,
        peek,
        clearing(zeros, spec.quantization),
        doubling(spec),
        initialization(start, spec.quantization),
        signatures=[
            Signature("step", 0, {"by": step.inputs[0]}, {"sum": step.outputs[0]}),
            Signature("peek", 1, {}, {"held": peek.outputs[0]}),
            Signature("clear", 2),
            Signature("twice", 3),
        ],
    )
