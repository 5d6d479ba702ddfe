"""Refusals of options of ONNX operators that TVM imports wrongly."""

from __future__ import annotations

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode


def batch_normalization(node: OnnxNode) -> None:
    """Refuse `BatchNormalization` in training mode."""
    if node.attributes.get("training_mode", 0) or node.outputs > 1:
        raise NotSupported(
            "it computes the statistics of a batch, as in training; export the model for inference"
        )


def local_response_normalization(node: OnnxNode) -> None:
    """Refuse `LRN` of even size, for which TVM's error gives no reason."""
    size = int(node.attributes.get("size", 1))
    if size % 2 == 0:
        raise NotSupported(f"size is {size}; only odd sizes have a middle")


def layer_normalization(node: OnnxNode) -> None:
    """Refuse `LayerNormalization` whose mean or deviation is read, because TVM returns 0 for them.
    Where ONNX knows the types, `schema_functions` has replaced the node before."""
    if any(index not in node.unread for index in range(1, node.outputs)):
        raise NotSupported(
            "something reads its mean or deviation, and ONNX does not know the types of its "
            "inputs, or has no function for it in this opset; export the model with opset 17 or "
            "newer, or save it with the types of its tensors"
        )
