"""Inputs of ONNX operators that must be constants for TVM's importer."""

from __future__ import annotations

from collections.abc import Mapping

from usmp.frontend.onnx.graph.node import OnnxNode

_OPERANDS: Mapping[str, Mapping[int, str]] = {
    "ConstantOfShape": {0: "the shape"},
    "Expand": {1: "the shape"},
    "Pad": {1: "the widths", 3: "the axes"},
    "Range": {0: "the start", 1: "the limit", 2: "the step"},
    "Reshape": {1: "the shape"},
    "SequenceAt": {1: "the position"},
    "SequenceErase": {1: "the position"},
    "SequenceInsert": {2: "the position"},
    "Split": {1: "the sizes of the parts"},
    "Tile": {1: "the repeats"},
}


def check_constant_operands(name: str, node: OnnxNode) -> None:
    """Check that the inputs that determine the result's shape are constants.

    Raises
    ------
    NotSupported
        such an input is computed at run time.
    """
    for index, described in _OPERANDS.get(name, {}).items():
        node.constant(index, described)
