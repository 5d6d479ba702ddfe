"""The tensors and operators of a TFLite graph."""

from __future__ import annotations

import tflite

from usmp.frontend.tflite.file.model import Inferred, TfliteOperator, TfliteTensor
from usmp.frontend.tflite.file.read import operator_name, vector


class Tensors(dict[int, TfliteTensor]):
    """The tensors of a graph by their index, which share inferred values and shapes.

    A tensor is created on first use, because a small file may run a large graph many times.
    """

    def __init__(self, model: tflite.Model, graph: tflite.SubGraph) -> None:
        super().__init__()
        self._model, self._graph, self._inferred = model, graph, Inferred()

    def __missing__(self, index: int) -> TfliteTensor:
        self[index] = TfliteTensor(self._model, self._graph, index, self._inferred)
        return self[index]


def operators_of(
    model: tflite.Model, graph: tflite.SubGraph, tensors: Tensors | None = None
) -> list[TfliteOperator]:
    """Return the operators of a graph that `check_tflite` accepts, in order.

    Parameters
    ----------
    tensors
        the tensors of the graph, if they exist already.
    """
    tensors = Tensors(model, graph) if tensors is None else tensors
    operators = []
    for position in range(graph.OperatorsLength()):
        table = graph.Operators(position)
        operators.append(
            TfliteOperator(
                position,
                operator_name(model, table),
                tuple(None if i < 0 else tensors[i] for i in vector(table, "Inputs")),
                tuple(tensors[i] for i in vector(table, "Outputs")),
                table,
                model,
            )
        )
    return operators
