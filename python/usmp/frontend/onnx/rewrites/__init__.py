"""ONNX to simpler ONNX."""
