"""Options of ONNX operators that TVM imports, and computes otherwise than ONNX says."""

from __future__ import annotations

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode


def batch_normalization(node: OnnxNode) -> None:
    """Statistics of the batch are for training."""
    if node.attributes.get("training_mode", 0) or node.outputs > 1:
        raise NotSupported(
            "it computes the statistics of a batch, as in training; export the model for inference"
        )


def local_response_normalization(node: OnnxNode) -> None:
    """TVM fails with a message that says nothing."""
    size = int(node.attributes.get("size", 1))
    if size % 2 == 0:
        raise NotSupported(f"size is {size}; only odd sizes have a middle")


def layer_normalization(node: OnnxNode) -> None:
    """TVM gives 0 for its second and third output; where they are read and ONNX knows the types,
    its function was written out before."""
    if any(index not in node.unread for index in range(1, node.outputs)):
        raise NotSupported(
            "something reads its mean or deviation, and ONNX does not know the types of its "
            "inputs, or has no function for it in this opset; export the model with opset 17 or "
            "newer, or save it with the types of its tensors"
        )
