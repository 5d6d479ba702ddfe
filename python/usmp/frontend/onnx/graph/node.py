"""The input of the converters of ONNX operators, and the error that they raise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.support.text.plain_text import shown


class NotSupported(Exception):
    """An operator or one of its options cannot be converted; the message says why and what to do.

    The importer puts the name of the operator and its output in front.
    """


@dataclass(frozen=True)
class OnnxNode:
    """An operator with its converted inputs.

    Parameters
    ----------
    builder
        emits the bindings of intermediate results.
    inputs
        the converted inputs; None for an omitted input.
    attributes
        as TVM's importer parses them; text is bytes.
    opset
        the version of the ONNX operators.
    outputs
        the number of outputs of the node.
    unread
        the indices of outputs that are omitted, or that no node reads.
    """

    builder: relax.BlockBuilder
    inputs: Sequence[Expr | None]
    attributes: Mapping[str, Any]
    opset: int
    outputs: int
    unread: frozenset[int] = frozenset()

    def input(self, index: int) -> Expr | None:
        """Return an input, or None if the node does not have it."""
        return self.inputs[index] if index < len(self.inputs) else None

    def required(self, index: int) -> Expr:
        """Return an input.

        Raises
        ------
        NotSupported
            the node does not have the input.
        """
        expr = self.input(index)
        if expr is None:
            raise NotSupported(f"input {index} is missing")
        return expr

    def constant(self, index: int, what: str) -> np.ndarray | None:
        """Return the values of a constant input, or None if the node does not have it.

        Raises
        ------
        NotSupported
            the input is computed at run time; the message calls it `what`.
        """
        expr = self.input(index)
        if expr is None:
            return None
        if isinstance(expr, relax.ShapeExpr):
            return np.array([int(extent) for extent in expr.values], np.int64)
        if not isinstance(expr, GenericConst):
            raise NotSupported(f"{what} must be constant, since memory is planned at compile time")
        return np.asarray(expr.value.numpy())

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is a word, escaped for messages."""
        return shown(bytes(self.attributes.get(name, default.encode())).decode(errors="replace"))


Converted: TypeAlias = "Expr | OnnxNode | None"
"""The result of a converter; or a rewritten node for TVM's converter; or None, so that TVM converts
the node unchanged."""
Converter = Callable[[OnnxNode], Converted]
