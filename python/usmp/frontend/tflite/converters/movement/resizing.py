"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR."""

from __future__ import annotations

import tflite

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import require_rank, require_types, stored_quantization
from usmp.ops import quantized
from usmp.ops.quantized import Layout, Resize

_NHWC = Layout("NHWC")


@converts("RESIZE_NEAREST_NEIGHBOR", moves=True)
def convert_resize_nearest(context: Context, operator: TfliteOperator) -> None:
    """Append a RESIZE_NEAREST_NEIGHBOR. Inputs: images, their new height and width."""
    sides = _sides(operator, operator.options(tflite.ResizeNearestNeighborOptions))
    value = context.value(operator.input(0))
    stored = stored_quantization(operator.input(0))
    resized = quantized.resize_nearest(context.builder, value, sides, _NHWC, stored)
    context.set_moved(operator, resized)


@converts("RESIZE_BILINEAR", quantized=False)
@converts("RESIZE_BILINEAR")
def convert_resize_bilinear(context: Context, operator: TfliteOperator) -> None:
    """Append a RESIZE_BILINEAR. Inputs: images, their new height and width."""
    require_types(operator, operator.input(0), "input", ("int8", "int16", "uint8", "float32"))
    sides = _sides(operator, operator.options(tflite.ResizeBilinearOptions))
    if sides[0].half_pixel_centers and sides[0].align_corners:
        raise operator.unsupported("align_corners and half_pixel_centers exclude each other")
    value = context.value(operator.input(0))
    in_single = operator.input(0).dtype in ("uint8", "float32")
    resize = quantized.resize_bilinear_in_single if in_single else quantized.resize_bilinear
    stored = stored_quantization(operator.input(0))
    resized = resize(context.builder, value, sides, _NHWC, stored)
    context.set_moved(operator, resized)


def _sides(
    operator: TfliteOperator,
    options: tflite.ResizeNearestNeighborOptions | tflite.ResizeBilinearOptions,
) -> tuple[Resize, Resize]:
    data, size = operator.input(0), operator.integers(1).reshape(-1)
    require_rank(operator, data, "input", (4,))
    if len(size) != 2 or size.min() < 1 or 0 in data.shape:
        raise operator.unsupported(
            f"images of shape {list(data.shape)} cannot have the size {size.tolist()}"
        )
    height, width = int(size[0]), int(size[1])
    if operator.output.shape != (data.shape[0], height, width, data.shape[3]):
        raise operator.unsupported(
            f'output "{operator.output.name}" has shape {list(operator.output.shape)}; '
            f"its size is given as {size.tolist()}"
        )
    flags = (bool(options.AlignCorners()), bool(options.HalfPixelCenters()))
    return Resize(data.shape[1], height, *flags), Resize(data.shape[2], width, *flags)
