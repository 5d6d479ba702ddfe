"""Quantized graphs as ONNX and PyTorch write them, float operators between R.dequantize and
R.quantize ("QDQ"), to integer operators."""

from usmp.relax.transform.qdq.integer_operators import use_integer_operators

__all__ = ["use_integer_operators"]
