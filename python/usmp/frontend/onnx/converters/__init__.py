"""Converters of ONNX operators to Relax."""
