"""A model from an image to a mask, both of which may pass by rows."""

from __future__ import annotations

from support.quantized_models.chain import Chain
from support.quantized_models.model import Spec
from support.quantized_models.windows import Window

IMAGE = Spec((1, 12, 8, 3), 0.05, -3, "int8")


def image_to_mask(stride: int = 1) -> bytes:
    """Windows of 3x3 over image "t0", the first with a stride; mask "t9" has 32 bytes a row with
    stride 1."""
    chain, same = Chain(), Window((3, 3), (1, 1), (1, 1), "SAME")
    image = chain.input(IMAGE)
    first = chain.conv(image, 8, Window((3, 3), (stride, stride), (1, 1), "SAME"))
    deep = chain.conv(first, 1, same, code="DEPTHWISE_CONV_2D")
    return chain.finish(chain.conv(deep, 4, Window((1, 1), (1, 1), (1, 1), "SAME")))
