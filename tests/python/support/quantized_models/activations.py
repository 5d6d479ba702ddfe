"""Functions of one input, resizing, and changes of quantization."""

from __future__ import annotations

from support.tflite_builder import Options, options

from .model import QuantizedModel, Spec, int32, models, one_operator

SHAPE = (1, 4, 5, 3)
LOGISTIC = (1 / 256, -128)
TANH = (1 / 128, 0)


def unary(code: str, x: Spec, y: Spec, table: Options | None = None) -> bytes:
    """One operator of one input."""
    return one_operator(code, [x], [y], table)


def function(
    code: str, x: tuple[float, int], y: tuple[float, int], dtype: str = "int8", table=None
) -> bytes:
    """One function of each element; `x` and `y` are (scale, zero point)."""
    return unary(code, Spec(SHAPE, *x, dtype), Spec(SHAPE, *y, dtype), table)


def functions(code: str, cases: dict[str, tuple]) -> list[QuantizedModel]:
    """Models of one function."""
    return models(code.lower(), function, {label: (code, *case) for label, case in cases.items()})


def softmax(x: Spec, beta: float, y: Spec | None = None) -> bytes:
    """One SOFTMAX over the last axis."""
    y = y or Spec(x.shape, 1 / 256, -128)
    return unary("SOFTMAX", x, y, options("SoftmaxOptions", beta=beta))


def leaky(x: tuple[float, int], y: tuple[float, int], alpha: float, dtype: str = "int8") -> bytes:
    """One LEAKY_RELU."""
    return function("LEAKY_RELU", x, y, dtype, options("LeakyReluOptions", alpha=alpha))


def resize(
    code: str, x: Spec, size: tuple[int, int], align_corners: bool, half_pixel_centers: bool
) -> bytes:
    """One RESIZE_BILINEAR or RESIZE_NEAREST_NEIGHBOR."""
    table = options(
        {"RESIZE_BILINEAR": "ResizeBilinearOptions"}.get(code, "ResizeNearestNeighborOptions"),
        align_corners=align_corners,
        half_pixel_centers=half_pixel_centers,
    )
    y = x(x.shape[0], *size, x.shape[3])
    return one_operator(code, [x, int32(*size)], [y], table)


RELUS = {
    "same_quantization": ((0.05, -7), (0.05, -7)),
    "whole_range": ((0.05, 0), (0.025, -128)),
    "coarser": ((0.02, 10), (0.09, -60)),
    "high_zero_point": ((0.05, 100), (0.03, 90)),
    "lowest_zero_point": ((0.05, -128), (0.05, -128)),
    "multiplier_above_one": ((0.09, 3), (0.05, -128)),
    "int16": ((0.0003, 0), (0.0003, 0), "int16"),
}
# tflite-micro only clamps: it takes the quantization of the output to be that of the input.
RELUS_6 = {
    "same_quantization": ((0.05, -7), (0.05, -7)),
    "whole_range": ((6 / 255, -128), (6 / 255, -128)),
    "middle": ((0.08, -60), (0.08, -60)),
    "int16": ((0.0003, 0), (0.0003, 0), "int16"),
}
LEAKY_RELUS = {
    "tenth": ((0.05, -7), (0.05, -7), 0.1),
    "third_other_quantization": ((0.05, 20), (0.07, -20), 0.3),
    "hundredth_lowest": ((0.05, -128), (0.05, -128), 0.01),
    "highest": ((0.05, 127), (0.05, 127), 0.5),
    "multiplier_above_one": ((0.09, -100), (0.05, -120), 0.2),
    "slope_above_one": ((0.05, 0), (0.08, 30), 1.5),
    "int16": ((0.0003, 0), (0.0003, 0), 0.1, "int16"),
}
HARD_SWISHES = {
    "image": ((0.05, -7), (0.04, -110)),
    "narrow": ((0.02, 0), (0.012, -60)),
    "wide": ((0.2, 3), (0.15, -100)),
    "lowest_zero_point": ((0.03, -128), (0.03, -128)),
    "highest_zero_point": ((0.03, 127), (0.01, 127)),
}
LOGISTICS = {
    "image": ((0.05, -7), LOGISTIC),
    "narrow": ((0.01, 0), LOGISTIC),
    "wide": ((0.3, 20), LOGISTIC),
    "lowest_zero_point": ((0.04, -128), LOGISTIC),
    "highest_zero_point": ((0.04, 127), LOGISTIC),
    # So coarse that the zero point itself gives the least value.
    "scale_8": ((8.0, 3), LOGISTIC),
    "scale_16": ((16.0, -7), LOGISTIC),
    "int16": ((0.0003, 0), (1 / 32768, 0), "int16"),
    "int16_power_of_two": ((1 / 4096, 0), (1 / 32768, 0), "int16"),
}
TANHS = {
    "image": ((0.02, -7), TANH),
    "narrow": ((0.005, 0), TANH),
    "wide": ((0.3, 20), TANH),
    "lowest_zero_point": ((0.02, -128), TANH),
    "highest_zero_point": ((0.02, 127), TANH),
    # So coarse that the zero point itself gives the least value.
    "scale_8": ((8.0, 3), TANH),
    "scale_16": ((16.0, -7), TANH),
    "int16": ((0.0001, 0), (1 / 32768, 0), "int16"),
    "int16_power_of_two": ((1 / 4096, 0), (1 / 32768, 0), "int16"),
}
SOFTMAXES = {
    "ten_classes": (Spec((1, 10), 0.04, 3), 1.0),
    "two_classes": (Spec((1, 2), 0.05, -10), 1.0),
    "rows": (Spec((5, 12), 0.05, 7), 1.0),
    "image": (Spec((1, 3, 4, 5), 0.05, -7), 1.0),
    "three_axes": (Spec((2, 3, 7), 0.02, -7), 1.0),
    "vector": (Spec((9,), 0.03, -7), 1.0),
    "many_classes": (Spec((1, 300), 0.07, 0), 1.0),
    "beta_half": (Spec((2, 10), 0.06, 0), 0.5),
    "beta_two": (Spec((2, 10), 0.02, 0), 2.0),
    "tiny_scale": (Spec((2, 10), 0.0005, 0), 1.0),
    "large_scale": (Spec((2, 10), 2.0, 0), 1.0),
    "to_int16": (Spec((2, 10), 0.05, 0), 1.0, Spec((2, 10), 1 / 65536, -32768, "int16")),
    "int16": (Spec((2, 10), 0.0002, 0, "int16"), 1.0, Spec((2, 10), 1 / 32768, 0, "int16")),
    "int16_one_class": (Spec((3, 1), 0.0002, 0, "int16"), 1.0, Spec((3, 1), 1 / 32768, 0, "int16")),
}

PHOTO = Spec((1, 4, 5, 3), 0.05, -7)
SIZES = {
    "twice": (PHOTO, (8, 10)),
    "thrice_height": (PHOTO, (12, 5)),
    "half": (PHOTO(1, 6, 8, 2), (3, 4)),
    "odd_up": (PHOTO, (7, 11)),
    "odd_down": (PHOTO(1, 9, 11, 2), (4, 5)),
    "same": (PHOTO, (4, 5)),
    "from_one_pixel": (PHOTO(1, 1, 1, 3), (3, 4)),
    "to_one_pixel": (PHOTO, (1, 1)),
    "two_batches": (PHOTO(2, 3, 3, 2), (5, 4)),
}
CORNERS = {"plain": (False, False), "corners": (True, False), "centers": (False, True)}

IMAGE = Spec(SHAPE, 0.05, -7)
IMAGE_16 = Spec(SHAPE, 0.0003, 0, "int16")
IMAGE_32 = Spec(SHAPE, 1e-8, 0, "int32")
BYTES = Spec(SHAPE, 0.05, 121, "uint8")
FLOAT = Spec(SHAPE, 0, 0, "float32")
QUANTIZATIONS = {
    "float_to_int8": (FLOAT, Spec(SHAPE, 0.02, 5)),
    "float_to_int8_lowest": (FLOAT, Spec(SHAPE, 0.02, -128)),
    "float_to_int8_highest": (FLOAT, Spec(SHAPE, 0.03, 127)),
    "float_to_int8_halves": (FLOAT, Spec(SHAPE, 0.5, 0)),
    "float_to_int16": (FLOAT, Spec(SHAPE, 0.0001, 0, "int16")),
    "int8_to_int8": (IMAGE, Spec(SHAPE, 0.07, 12)),
    "int8_to_int8_same": (IMAGE, IMAGE),
    "int8_to_int8_finer": (IMAGE, Spec(SHAPE, 0.02, 3)),
    "int8_to_int8_ends": (Spec(SHAPE, 0.05, 127), Spec(SHAPE, 0.06, 127)),
    "int8_to_int8_tiny": (Spec(SHAPE, 0.05, -128), Spec(SHAPE, 1.0, 0)),
    "int8_to_uint8": (IMAGE, Spec(SHAPE, 0.05, 121, "uint8")),
    "int8_to_uint8_scaled": (IMAGE, Spec(SHAPE, 0.06, 100, "uint8")),
    "uint8_to_int8": (BYTES, Spec(SHAPE, 0.05, -7)),
    "uint8_to_int8_scaled": (BYTES, Spec(SHAPE, 0.07, 10)),
    "int8_to_int16": (IMAGE, Spec(SHAPE, 0.0003, 0, "int16")),
    "int8_to_int32": (IMAGE, IMAGE_32),
    "int16_to_int8": (IMAGE_16, Spec(SHAPE, 0.08, 3)),
    "int16_to_int8_lowest": (IMAGE_16, Spec(SHAPE, 0.04, -128)),
    "int16_to_int16": (IMAGE_16, Spec(SHAPE, 0.0004, 0, "int16")),
    "int16_to_int32": (IMAGE_16, IMAGE_32),
    "int32_to_int8": (IMAGE_32, Spec(SHAPE, 0.2, 3)),
    "int32_to_int16": (IMAGE_32, Spec(SHAPE, 0.0008, 0, "int16")),
}
DEQUANTIZATIONS = {
    "int8": (IMAGE, FLOAT),
    "int8_lowest": (Spec(SHAPE, 0.003, -128), FLOAT),
    "int8_highest": (Spec(SHAPE, 1.7, 127), FLOAT),
    "uint8": (BYTES, FLOAT),
    "int16": (IMAGE_16, FLOAT),
}


def _resizes(code: str, cases: dict[str, tuple]) -> list[QuantizedModel]:
    corners = CORNERS if code == "RESIZE_BILINEAR" else CORNERS | {"both": (True, True)}
    return models(
        code.lower(),
        resize,
        {
            f"{size}_{corner}": (code, *case, *flags)
            for size, case in cases.items()
            for corner, flags in corners.items()
        },
    )


def _unary(code: str, cases: dict[str, tuple[Spec, Spec]]) -> list[QuantizedModel]:
    return models(code.lower(), unary, {label: (code, *case) for label, case in cases.items()})


WIDE_SIZES = {"int16_odd_up": (Spec(SHAPE, 0.0003, 0, "int16"), (7, 11))}
MODELS: list[QuantizedModel] = [
    *functions("RELU", RELUS),
    *functions("RELU6", RELUS_6),
    *models("leaky_relu", leaky, LEAKY_RELUS),
    *functions("HARD_SWISH", HARD_SWISHES),
    *functions("LOGISTIC", LOGISTICS),
    *functions("TANH", TANHS),
    *models("softmax", softmax, SOFTMAXES),
    *_resizes("RESIZE_NEAREST_NEIGHBOR", SIZES | WIDE_SIZES),
    *_resizes("RESIZE_BILINEAR", SIZES),
    *_unary("QUANTIZE", QUANTIZATIONS),
    *_unary("DEQUANTIZE", DEQUANTIZATIONS),
]
