"""Spans that point to the nodes of an ONNX file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx
from tvm.ir import Span

from usmp.frontend.onnx.graph.imported_types import UNKNOWN, TensorTypes
from usmp.frontend.onnx.graph.nodes import qualified_name
from usmp.tir.model_operator import joined_span, model_operator
from usmp.tir.spans import AnySpan

TypeOf = Callable[[str], tuple[str, Sequence[int | str]]]


class ModelNodes:
    """The nodes of a file's graph before functions are inlined and constants are folded."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._types = TensorTypes(graph)
        self._constants = {tensor.name for tensor in graph.initializer}
        self._by_output: dict[str, tuple[int, onnx.NodeProto]] = {}
        for index, node in enumerate(graph.node):
            if node.op_type == "Constant":
                self._constants.update(node.output)
            copy = onnx.NodeProto(
                name=node.name,
                op_type=node.op_type,
                domain=node.domain,
                input=node.input,
                output=node.output,
            )
            self._by_output.update((output, (index, copy)) for output in node.output if output)

    def span(self, outputs: Sequence[str], type_of: TypeOf) -> Span | None:
        """Return the span of the node with one of these outputs; None if the file has none.

        Parameters
        ----------
        type_of
            returns the inferred element type and extents of a tensor.
        """
        entry = next((self._by_output[name] for name in outputs if name in self._by_output), None)
        return None if entry is None else self._span(*entry, type_of)

    def joined_span(self, type_of: TypeOf) -> AnySpan | None:
        """Return the span of all nodes except constants.

        Parameters
        ----------
        type_of
            see `span`.
        """
        nodes = dict(self._by_output.values())
        return joined_span(
            self._span(index, node, type_of)
            for index, node in nodes.items()
            if node.op_type != "Constant"
        )

    def _span(self, index: int, node: onnx.NodeProto, type_of: TypeOf) -> Span:
        def best_type(name: str) -> tuple[str, Sequence[int | str]]:
            inferred = type_of(name)
            return self._types.of(name) if inferred[0] == UNKNOWN else inferred

        return model_operator(
            index,
            qualified_name(node),
            [name for name in node.input if name and name not in self._constants],
            [(name, *best_type(name)) for name in node.output if name],
            node.name,
        ).as_span()
