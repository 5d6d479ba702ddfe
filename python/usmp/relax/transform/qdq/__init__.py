"""The rewrite of QDQ graphs to integer operators. ONNX and PyTorch write QDQ graphs: float
operators between R.dequantize and R.quantize."""

from usmp.relax.transform.qdq.channels_last import convolves_images, copies_pay, put_channels_last
from usmp.relax.transform.qdq.integer_operators import is_quantized, use_integer_operators

__all__ = [
    "convolves_images",
    "copies_pay",
    "is_quantized",
    "put_channels_last",
    "use_integer_operators",
]
