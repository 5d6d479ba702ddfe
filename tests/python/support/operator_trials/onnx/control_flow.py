"""`If`, `Loop` and `Scan` around random operators, and inside of each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random

import numpy as np

from support.lazy import lazy
from support.operator_trials.onnx.one_node import Operand, graph_trial, opset_of
from support.operator_trials.onnx.samples import constant, values
from support.operator_trials.trial import Generator, Tolerance, Trial

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
numpy_helper = lazy("onnx.numpy_helper")

_OPERATORS = ("If", "Loop", "Scan")
_TYPES = ("float32", "float32", "int32", "int64")
_BINARY = ("Add", "Sub", "Mul")
_UNARY = ("Abs", "Neg", "Identity")
_DEEPEST = 3
_MOST_STEPS = 5
_OLDEST = 10
"""Of Slice with inputs; Scan had a batch before opset 9."""
_FIRST_WITHOUT_CARRIED = 13
"""A Loop may carry nothing since then."""
_TOLERANCE = Tolerance(1e-4, 1e-5)
"""Errors go on from step to step."""

node = lazy("onnx.helper:make_node")


class _Program:
    """Graphs, in all of which data is of one shape and type; inner ones read names outside."""

    def __init__(self, random: Random, opset: int, shape: Sequence[int], dtype: str) -> None:
        self.random, self.opset, self.shape, self.dtype = random, opset, list(shape), dtype
        self.element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.numbers = count()

    def name(self) -> str:
        return f"n{next(self.numbers)}"

    def is_likely(self, share: float = 0.5) -> bool:
        return self.random.random() < share

    def some(self, known: Sequence[str], least: int, most: int) -> list[str]:
        """Any of them, also several times."""
        return [self.random.choice(known) for _ in range(self.random.randint(least, most))]

    def value(self, name: str, shape: Sequence[int] | None = None, element: int = 0):
        return helper.make_tensor_value_info(
            name, element or self.element, self.shape if shape is None else shape
        )

    def constant(self, nodes: list[onnx.NodeProto], value: np.ndarray) -> str:
        name = self.name()
        nodes.append(node("Constant", [], [name], value=numpy_helper.from_array(value)))
        return name

    def steps(self, nodes: list[onnx.NodeProto], known: Sequence[str], most: int = 3) -> list[str]:
        """The tensors, and those that a few operators compute with them."""
        known = list(known)
        for _ in range(self.random.randint(0, most)):
            kind = self.random.choice((*_BINARY, *_UNARY, "constant"))
            if kind == "constant":
                value = constant(self.random, self.dtype, self.shape, -2, 2)
                known.append(self.constant(nodes, value))
                continue
            read = self.some(known, 2, 2) if kind in _BINARY else self.some(known, 1, 1)
            known.append(self.name())
            nodes.append(node(kind, read, [known[-1]]))
        return known

    def block(self, nodes: list[onnx.NodeProto], known: Sequence[str], depth: int) -> list[str]:
        """The tensors, and those of operators, of which one may run graphs."""
        known = self.steps(nodes, known)
        if depth < _DEEPEST and self.is_likely():
            known += self.control(self.random.choice(_OPERATORS), nodes, known, depth)
        return self.steps(nodes, known, 2)

    def control(
        self, operator: str, nodes: list[onnx.NodeProto], known: Sequence[str], depth: int
    ) -> list[str]:
        """The results, of the shape of data, of an operator that runs graphs."""
        of = {"If": self.choice, "Loop": self.loop, "Scan": self.scan}
        return of[operator](nodes, known, depth + 1)

    def condition(self, nodes: list[onnx.NodeProto], known: Sequence[str]) -> str:
        """Whether the first element of a tensor is small."""
        first = self.constant(nodes, np.zeros(len(self.shape), np.int64))
        second = self.constant(nodes, np.ones(len(self.shape), np.int64))
        element, flag, result = self.name(), self.name(), self.name()
        limit = self.constant(nodes, constant(self.random, self.dtype, (), -1, 1))
        scalar = self.constant(nodes, np.array([], np.int64))
        nodes += [
            node("Slice", [self.random.choice(known), first, second], [element]),
            node("Less", [element, limit], [flag]),
            node("Reshape", [flag, scalar], [result]),
        ]
        return result

    def choice(self, nodes: list[onnx.NodeProto], known: Sequence[str], depth: int) -> list[str]:
        results = self.random.randint(1, 2)
        branches = {}
        for name in ("then_branch", "else_branch"):
            inner: list[onnx.NodeProto] = []
            found = self.block(inner, known, depth)
            # A graph gives what it computes, and nothing from outside.
            given = [self.given(inner, self.random.choice(found)) for _ in range(results)]
            outputs = [self.value(result) for result in given]
            branches[name] = helper.make_graph(inner, name, [], outputs)
        outputs = [self.name() for _ in range(results)]
        nodes.append(node("If", [self.condition(nodes, known)], outputs, **branches))
        return outputs

    def given(self, nodes: list[onnx.NodeProto], name: str) -> str:
        result = self.name()
        nodes.append(node("Identity", [name], [result]))
        return result

    def body(
        self,
        nodes: list[onnx.NodeProto],
        known: Sequence[str],
        inputs: Sequence[str],
        carried: int,
        rows: int,
        depth: int,
    ) -> list[str]:
        """What a body gives: its first inputs after an iteration, which change, stay or change
        places, and rows of results."""
        # Inputs are likelier than what is outside.
        found = self.block(nodes, [*inputs, *inputs, *known], depth)
        own = [name for name in found if name in inputs or name not in known]
        after = [
            name if self.is_likely(0.2) else self.random.choice(own) for name in inputs[:carried]
        ]
        given = [*after, *(self.random.choice(own) for _ in range(rows))]
        # onnxruntime takes a name once among the outputs, and inputs not as those of Scan.
        return [
            self.given(nodes, name) if name in (*inputs, *given[:place]) else name
            for place, name in enumerate(given)
        ]

    def loop(self, nodes: list[onnx.NodeProto], known: Sequence[str], depth: int) -> list[str]:
        given = self.some(known, int(self.opset < _FIRST_WITHOUT_CARRIED), 3)
        rows = self.random.randint(0, 2)
        rows = max(rows, int(not given))
        trips = self.random.randint(1, _MOST_STEPS)
        number, goes_on = self.name(), self.name()
        carried = [self.name() for _ in given]
        inner: list[onnx.NodeProto] = []
        counted = self.name()
        inner.append(node("Cast", [number], [counted], to=self.element))
        inner.append(node("Add", [counted, self.random.choice(known)], [counted + "_"]))
        inputs = [*carried, counted + "_"]
        results = self.body(inner, known, inputs, len(carried), rows, depth)
        still = self.name()
        inner.append(node("Identity", [goes_on], [still]))
        taken = [
            self.value(number, [], TensorProto.INT64),
            self.value(goes_on, [], TensorProto.BOOL),
        ]
        graph = helper.make_graph(
            inner,
            "loop",
            [*taken, *map(self.value, carried)],
            [self.value(still, [], TensorProto.BOOL), *map(self.value, results)],
        )
        limit = self.constant(nodes, np.array(trips, np.int64))
        first = self.constant(nodes, np.array(True)) if self.is_likely() else ""
        outputs = [self.name() for _ in results]
        nodes.append(node("Loop", [limit, first, *given], outputs, body=graph))
        return self.shaped(nodes, outputs, len(given), [(trips, 0)] * rows)

    def scan(self, nodes: list[onnx.NodeProto], known: Sequence[str], depth: int) -> list[str]:
        given, scanned = self.some(known, 0, 2), self.random.randint(1, 2)
        rows = self.random.randint(int(not given), 2)
        steps, rank = self.random.randint(1, _MOST_STEPS), len(self.shape)
        directions = [self.random.randint(0, 1) for _ in range(scanned)]
        axes = [self.random.randint(0, rank) for _ in range(scanned)]
        whole = [self.stacked(nodes, known, steps, axis) for axis in axes]
        result_directions = [self.random.randint(0, 1) for _ in range(rows)]
        result_axes = [self.random.randint(0, rank) for _ in range(rows)]
        inputs = [self.name() for _ in range(len(given) + scanned)]
        inner: list[onnx.NodeProto] = []
        results = self.body(inner, known, inputs, len(given), rows, depth)
        graph = helper.make_graph(
            inner, "scan", list(map(self.value, inputs)), list(map(self.value, results))
        )
        attributes = {
            "scan_input_axes": [self.turned(axis) for axis in axes],
            "scan_output_axes": [self.turned(axis) for axis in result_axes],
            "scan_input_directions": directions,
            "scan_output_directions": result_directions,
        }
        # Those of zeros alone are defaults, and empty ones are none.
        attributes = {key: v for key, v in attributes.items() if v and (any(v) or self.is_likely())}
        outputs = [self.name() for _ in results]
        attributes |= {"body": graph, "num_scan_inputs": scanned}
        nodes.append(node("Scan", [*given, *whole], outputs, **attributes))
        return self.shaped(nodes, outputs, len(given), [(steps, axis) for axis in result_axes])

    def turned(self, axis: int) -> int:
        """The axis, perhaps counted from the end."""
        return axis - len(self.shape) - 1 if self.is_likely(0.3) else axis

    def stacked(
        self, nodes: list[onnx.NodeProto], known: Sequence[str], steps: int, axis: int
    ) -> str:
        """Tensors beside each other along a new axis."""
        shape = [*self.shape[:axis], 1, *self.shape[axis:]]
        extents = self.constant(nodes, np.array(shape, np.int64))
        rows = [self.name() for _ in range(steps)]
        for row in rows:
            nodes.append(node("Reshape", [self.random.choice(known), extents], [row]))
        result = self.name()
        nodes.append(node("Concat", rows, [result], axis=axis))
        return result

    def shaped(
        self,
        nodes: list[onnx.NodeProto],
        outputs: Sequence[str],
        carried: int,
        stacks: Sequence[tuple[int, int]],
    ) -> list[str]:
        """The carried tensors, and one of the rows of each other result, whose number and axis are
        given."""
        found = list(outputs[:carried])
        for name, (steps, axis) in zip(outputs[carried:], stacks, strict=True):
            at = self.constant(nodes, np.array(self.random.randrange(steps), np.int64))
            found.append(self.name())
            nodes.append(node("Gather", [name, at], [found[-1]], axis=axis))
        return found


def control_flow(operator: str, random: Random) -> Trial:
    """The operator between others, with graphs in which there may be more of it."""
    opset = max(opset_of(random, operator), _OLDEST)
    shape = [random.randint(1, 4) for _ in range(random.randint(1, 2))]
    program = _Program(random, opset, shape, random.choice(_TYPES))
    nodes: list[onnx.NodeProto] = []
    operands: list[Operand] = [
        values(program.dtype, shape, -2, 2) for _ in range(random.randint(1, 3))
    ]
    if random.random() < 0.5:
        operands.append(constant(random, program.dtype, shape, -2, 2))
    given = [f"x{index}" for index in range(len(operands))]
    known = program.steps(nodes, given)
    results = program.control(operator, nodes, known, 0)
    whole = next(one.output for one in nodes if one.op_type == operator)
    results = [*whole, *program.steps(nodes, [*known, *results])[-1:]]
    outputs = [program.given(nodes, name) for name in dict.fromkeys(results)]
    described = " ".join(one.op_type for one in nodes)
    trial = graph_trial(random, operator, nodes, operands, outputs, opset, described, _TOLERANCE)
    if random.random() < 0.5:
        return trial
    model = onnx.ModelProto.FromString(trial.model)
    _hand_on_inputs(model.graph.node)
    return replace(
        trial, model=model.SerializeToString(), description=f"{trial.description}, handed on"
    )


def _hand_on_inputs(nodes: Iterable[onnx.NodeProto]) -> None:
    """Let bodies give their inputs themselves where an Identity gives them."""
    for body in (a.g for one in nodes for a in one.attribute if a.HasField("g")):
        _hand_on_inputs(body.node)
        inputs = {value.name for value in body.input}
        copied = {one.output[0]: one.input[0] for one in body.node if one.op_type == "Identity"}
        for output in body.output:
            if copied.get(output.name) in inputs - {other.name for other in body.output}:
                output.name = copied[output.name]


GENERATORS: Mapping[str, Generator] = {
    operator: partial(control_flow, operator) for operator in _OPERATORS
}
