"""ONNX operators to Relax."""
