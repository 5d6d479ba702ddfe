"""Options of ONNX operators that TVM imports, and computes otherwise than ONNX says."""

from __future__ import annotations

from usmp.frontend.onnx.node import NotSupported, OnnxNode


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
