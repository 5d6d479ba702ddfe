"""`WHILE`, `IF` and `STABLEHLO_COMPOSITE` around random operators, and inside of each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

import numpy as np
from flatbuffers import flexbuffers

from support.operator_trials.tflite.draw import Draw, Model, trial
from support.operator_trials.trial import Generator, Tolerance, Trial
from support.tflite_builder import Graph, options, write_model
from support.tflite_tensors import extreme_inputs, graph_tensors, random_inputs

_INSIDE = {
    "WHILE": ("WHILE", "IF"),
    "IF": ("IF", "WHILE"),
    # Only LiteRT has composites, and its WHILE goes wrong where a body hands on one of its inputs
    # in the place of another.
    "STABLEHLO_COMPOSITE": ("STABLEHLO_COMPOSITE", "IF"),
}
_BINARY = {
    "ADD": "AddOptions",
    "SUB": "SubOptions",
    "MUL": "MulOptions",
    "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions",
}
_COUNT = (1,)
_MOST_STEPS = 4
_DEEPEST = 3
_RANDOM_RUNS = 6
_TOLERANCE = Tolerance(1e-4, 1e-5)
"""Errors go on from step to step."""


class _Program:
    """Subgraphs, in all of which data is of one shape, type and quantization.

    Besides data each subgraph takes a count, by which loops end and branches are chosen.
    """

    def __init__(self, draw: Draw, inside: Sequence[str]) -> None:
        self.draw, self.inside = draw, inside
        self.graphs: list[Graph] = []
        shape = (draw.number(1, 3), draw.number(2, 5))
        self.spec = draw.spec(shape, draw.choice(("float32", "float32", "int8")))

    def graph(self, data: int) -> tuple[int, Graph, list[int], int]:
        """A new subgraph: its number, itself, its inputs of data, its count."""
        graph = Graph(f"graph_{len(self.graphs)}")
        self.graphs.append(graph)
        spec = self.spec
        values = [graph.input(spec.shape, spec.dtype, spec.quantization) for _ in range(data)]
        return len(self.graphs) - 1, graph, values, graph.input(_COUNT, "int32")

    def data(self, graph: Graph) -> int:
        """A tensor that an operator is to give."""
        return graph.tensor(self.spec.shape, self.spec.dtype, self.spec.quantization)

    def some(self, values: Sequence[int], count: int) -> list[int]:
        """Any of them, also several times."""
        return [self.draw.choice(values) for _ in range(count)]

    def steps(self, graph: Graph, values: Sequence[int], most: int = 3) -> list[int]:
        """The values, and those that a few operators compute with them."""
        known = list(values)
        for _ in range(self.draw.number(0, most)):
            code = self.draw.choice((*_BINARY, "REVERSE_V2", "constant"))
            if code == "constant":
                content = self.draw.constant(self.spec)
                known.append(graph.constant(content.data, content.quantization))
                continue
            result = self.data(graph)
            if code == "REVERSE_V2":
                axis = graph.constant(np.array([self.draw.number(0, 1)], np.int32))
                table = options("ReverseV2Options")
                graph.operator(code, [self.draw.choice(known), axis], [result], table)
            else:
                graph.operator(code, self.some(known, 2), [result], options(_BINARY[code]))
            if code == "MUL" and self.spec.dtype == "float32":
                # Squares of squares would soon be infinite, and TFLite's infinity is the largest
                # number.
                product, result = result, self.data(graph)
                graph.operator("TANH", [product], [result])
            known.append(result)
        return known

    def on_counts(self, graph: Graph, code: str, table: str, count: int, other: int) -> int:
        result = graph.tensor(_COUNT, "bool" if code == "LESS" else "int32")
        graph.operator(code, [count, other], [result], options(table))
        return result

    def number(self, graph: Graph, value: int) -> int:
        return graph.constant(np.array([value], np.int32))

    def inner(self, data: int, results: int, depth: int) -> int:
        """A subgraph of data and a count that gives some data."""
        number, graph, values, count = self.graph(data)
        values = self.block(graph, values, count, depth)
        if "STABLEHLO_COMPOSITE" in self.inside:
            # Of one tensor that is given twice, LiteRT leaves the first copy as it was.
            graph.output(*self.draw.random.sample(list(dict.fromkeys(values)), results))
        else:
            graph.output(*self.some(values, results))
        return number

    def block(self, graph: Graph, values: list[int], count: int, depth: int) -> list[int]:
        """The values, and those of operators, of which one may run other subgraphs."""
        values = self.steps(graph, values)
        if depth < _DEEPEST and self.draw.flag(0.5):
            values += self.control(self.draw.choice(self.inside), graph, values, count, depth)
        return self.steps(graph, values, 2)

    def control(
        self, code: str, graph: Graph, values: Sequence[int], count: int, depth: int
    ) -> list[int]:
        """The results of an operator that runs other subgraphs."""
        if code == "WHILE":
            return self.loop(graph, values, count, depth)
        given = self.some(values, self.draw.number(1, 3))
        results = self.draw.number(1, min(2, len(given)))
        numbers = [
            self.inner(len(given), results, depth + 1) for _ in range(2 if code == "IF" else 1)
        ]
        given = [*given, count]
        if code == "IF":
            limit = self.number(graph, self.draw.number(0, _MOST_STEPS))
            if self.draw.flag(0.8):
                condition = self.on_counts(graph, "LESS", "LessOptions", count, limit)
            else:
                condition = graph.constant(np.array([self.draw.flag()]))
            given.insert(0, condition)
            table = options(
                "IfOptions", then_subgraph_index=numbers[0], else_subgraph_index=numbers[1]
            )
        else:
            table = options(
                "StableHLOCompositeOptions",
                name="composite",
                decomposition_subgraph_index=numbers[0],
                composite_attributes=bytes(flexbuffers.Dumps({})),
            )
        outputs = [self.data(graph) for _ in range(results)]
        graph.operator(code, given, outputs, table)
        return outputs

    def loop(self, graph: Graph, values: Sequence[int], count: int, depth: int) -> list[int]:
        """Carries data, which changes, stays or changes places, and a number of steps; the count
        goes up to that number."""
        given = self.some(values, self.draw.number(1, 4))
        condition, asking, _, at = self.graph(len(given))
        end = asking.input(_COUNT, "int32")
        asking.output(self.on_counts(asking, "LESS", "LessOptions", at, end))
        number, body, carried, at = self.graph(len(given))
        end = body.input(_COUNT, "int32")
        known = self.block(body, carried, at, depth + 1)
        after = [v if self.draw.flag(0.25) else self.draw.choice(known) for v in carried]
        body.output(*after)
        body.output(self.on_counts(body, "ADD", "AddOptions", at, self.number(body, 1)), end)
        table = options("WhileOptions", cond_subgraph_index=condition, body_subgraph_index=number)
        outputs = [self.data(graph) for _ in given]
        begin, counts = self.number(graph, 0), [graph.tensor(_COUNT, "int32") for _ in range(2)]
        graph.operator("WHILE", [*given, begin, count], [*outputs, *counts], table)
        return outputs


def control_flow(operator: str, random: Random) -> Trial:
    """The operator between others, with subgraphs in which there may be more of it."""
    draw = Draw(random)
    program = _Program(draw, _INSIDE[operator])
    _, main, inputs, count = program.graph(draw.number(1, 3))
    values = program.steps(main, inputs)
    results = program.control(operator, main, values, count, 0)
    last = program.steps(main, [*values, *results])[-1]
    main.output(*dict.fromkeys([*results, *([last] if last not in inputs else [])]))
    content = write_model(*program.graphs)
    tensors, _ = graph_tensors(content)
    runs = [random_inputs(tensors, random.getrandbits(32)) for _ in range(_RANDOM_RUNS)]
    runs += extreme_inputs(tensors)
    for number, run in enumerate(runs):
        run[tensors[-1].name] = np.array([number % (_MOST_STEPS + 1)], np.int32)
    codes = "; ".join(_described(graph) for graph in program.graphs)
    is_for_litert = operator == "STABLEHLO_COMPOSITE"
    model = Model([], [], tolerance=_TOLERANCE, is_for_litert=is_for_litert)
    return trial(operator, content, f"{program.spec}: {codes}", model, random, runs)


def _described(graph: Graph) -> str:
    return f"{graph.inputs} -> {graph.outputs}"


GENERATORS: dict[str, Generator] = {
    operator: partial(control_flow, operator) for operator in _INSIDE
}
