"""Small float TFLite files: what no converter would write."""

from __future__ import annotations

from collections.abc import Sequence

from tflite import BuiltinOperator

from support.tflite_builder import Graph, write_model


def one_operator_model(
    shape: Sequence[int] = (1, 4),
    signature: Sequence[int] | None = None,
    operator: int = BuiltinOperator.RELU,
    names: tuple[str, str] = ("x", "y"),
    subgraphs: int = 1,
    input_index: int = 0,
) -> bytes:
    """A float model of one operator without options, x -> y, both of `shape`."""
    graph = Graph()
    x, y = (graph.tensor(shape, "float32", name=name, signature=signature) for name in names)
    custom = "MyOperator" if operator == BuiltinOperator.CUSTOM else None
    graph.operator(operator, [input_index], [y], custom_code=custom)
    graph.inputs.append(x)
    graph.output(y)
    return write_model(*[graph] * subgraphs)
