"""What a converter of an ONNX operator is given, and how it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.support.plain_text import shown


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
        emits what the result is made of.
    inputs
        none for an input that is left out.
    attributes
        as TVM's importer parses them; text is bytes.
    opset
        the version of the ONNX operators.
    outputs
        how many outputs the node has.
    unread
        the places of outputs that are left out, or that nothing reads.
    """

    builder: relax.BlockBuilder
    inputs: Sequence[Expr | None]
    attributes: Mapping[str, Any]
    opset: int
    outputs: int
    unread: frozenset[int] = frozenset()

    def input(self, index: int) -> Expr | None:
        """The input, if the node has it."""
        return self.inputs[index] if index < len(self.inputs) else None

    def required(self, index: int) -> Expr:
        """The input.

        Raises
        ------
        NotSupported
            the node does not have it.
        """
        expr = self.input(index)
        if expr is None:
            raise NotSupported(f"input {index} is missing")
        return expr

    def constant(self, index: int, what: str) -> np.ndarray | None:
        """The values of an input that must be constant, if the node has it.

        Raises
        ------
        NotSupported
            it is computed when the model runs.
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
        """An attribute that is a word, as messages show it."""
        return shown(bytes(self.attributes.get(name, default.encode())).decode(errors="replace"))


Converted: TypeAlias = "Expr | OnnxNode | None"
"""The result; the node that TVM's own conversion shall take in the place of this one; or none if it
shall take this one."""
Converter = Callable[[OnnxNode], Converted]
