"""The nodes of an ONNX file, for spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx
from tvm.ir import Span

from usmp.tir.model_operator import model_operator

TypeOf = Callable[[str], tuple[str, Sequence[int | str]]]


class ModelNodes:
    """The nodes of the graph as the file has it: before functions are inlined, and before what is
    known at compile time is folded.

    Parameters
    ----------
    graph
        of the file.
    """

    def __init__(self, graph: onnx.GraphProto) -> None:
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
        """The span of the node with one of these outputs; None if the file has none.

        Parameters
        ----------
        type_of
            element type and extents of a tensor.
        """
        found = next((self._by_output[name] for name in outputs if name in self._by_output), None)
        if found is None:
            return None
        index, node = found
        domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
        return model_operator(
            index,
            f"{domain}{node.op_type}",
            [name for name in node.input if name and name not in self._constants],
            [(name, *type_of(name)) for name in node.output if name],
            node.name,
        ).as_span()
