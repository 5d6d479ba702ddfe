"""Operators of two inputs that work element by element."""

from __future__ import annotations

from dataclasses import dataclass, replace

from support.tflite_builder import Options, options

from .model import (
    ACTIVATIONS,
    Constant,
    QuantizedModel,
    Spec,
    models,
    one_operator,
    random_constant,
)

SHAPE = (1, 4, 5, 3)
_A, _B, _Y = Spec(SHAPE, 0.05, -7), Spec(SHAPE, 0.07, 12), Spec(SHAPE, 0.08, 4)


@dataclass(frozen=True)
class Binary:
    """Two inputs, and which of them is constant: "", "first" or "second"."""

    a: Spec = _A
    b: Spec = _B
    y: Spec = _Y
    constant: str = ""
    activation: str = "NONE"

    def with_shapes(self, a: tuple[int, ...], b: tuple[int, ...], y: tuple[int, ...]) -> Binary:
        """The same numbers in other shapes."""
        return replace(self, a=self.a(*a), b=self.b(*b), y=self.y(*y))

    def inputs(self) -> list[Spec | Constant]:
        a = random_constant(self.a) if self.constant == "first" else self.a
        b = random_constant(self.b) if self.constant == "second" else self.b
        return [a, b]


TABLES = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}


def binary(code: str, case: Binary) -> bytes:
    """One ADD, SUB or MUL, or one without options."""
    table: Options | None = None
    if code in TABLES:
        activation = ACTIVATIONS[case.activation]
        table = options(TABLES[code], fused_activation_function=activation)
    return one_operator(code, case.inputs(), [case.y], table)


def broadcasts(case: Binary) -> dict[str, Binary]:
    """Pairs of shapes, each with what both make."""
    shapes = {
        "one_element": ((1,), (1,), (1,)),
        "vectors": ((13,), (13,), (13,)),
        "matrices": ((3, 7), (3, 7), (3, 7)),
        "channels": (SHAPE, (3,), SHAPE),
        "channels_first": ((3,), SHAPE, SHAPE),
        "channels_of_four_axes": (SHAPE, (1, 1, 1, 3), SHAPE),
        "one_number": (SHAPE, (1,), SHAPE),
        "one_number_first": ((), SHAPE, SHAPE),
        "pixels": ((2, 4, 5, 3), (1, 4, 5, 1), (2, 4, 5, 3)),
        "both": ((1, 4, 1, 3), (2, 1, 5, 1), (2, 4, 5, 3)),
        "rows_and_columns": ((6, 1), (1, 7), (6, 7)),
        "missing_axes": ((2, 3, 4), (3, 1), (2, 3, 4)),
    }
    return {f"broadcast_{label}": case.with_shapes(*abc) for label, abc in shapes.items()}


def constants(case: Binary) -> dict[str, Binary]:
    """A constant on either side, as large as the other or broadcast."""
    channel = (SHAPE, (3,), SHAPE)
    channel_first = ((3,), SHAPE, SHAPE)
    number = (SHAPE, (), SHAPE)
    return {
        "constant_first": replace(case, constant="first"),
        "constant_second": replace(case, constant="second"),
        "constant_channels": replace(case, constant="second").with_shapes(*channel),
        "constant_channels_first": replace(case, constant="first").with_shapes(*channel_first),
        "constant_number": replace(case, constant="second").with_shapes(*number),
    }


def scaled(scales: tuple[float, float, float], zero_points: tuple[int, int, int]) -> Binary:
    """Same shapes, other numbers."""
    specs = [Spec(SHAPE, scale, zero) for scale, zero in zip(scales, zero_points, strict=True)]
    return Binary(*specs)


def sum_cases() -> dict[str, Binary]:
    """For ADD and SUB."""
    case = Binary()
    return {
        "same_shape": case,
        **broadcasts(case),
        **constants(case),
        "relu": replace(case, activation="RELU", y=replace(case.y, zero_point=-60)),
        "relu6": replace(case, activation="RELU6", y=replace(case.y, scale=0.05, zero_point=-90)),
        "relu_n1_to_1": replace(case, activation="RELU_N1_TO_1", y=replace(case.y, scale=0.02)),
        "zero_points_lowest": scaled((0.05, 0.07, 0.08), (-128, -128, -128)),
        "zero_points_highest": scaled((0.05, 0.07, 0.08), (127, 127, 127)),
        "zero_points_mixed": scaled((0.05, 0.07, 0.12), (-128, 127, 0)),
        "equal_scales": scaled((0.1, 0.1, 0.1), (0, 0, 0)),
        "scale_ratio_1000": scaled((1e-3, 1.0, 1.1), (3, -4, 5)),
        "scale_ratio_million": scaled((1.0, 1e-6, 0.7), (3, -4, 5)),
        "small_output_scale": scaled((0.05, 0.07, 0.02), (3, -4, 5)),
        "large_output_scale": scaled((0.05, 0.07, 4.0), (3, -4, 5)),
        "tiny_scales": scaled((3e-5, 2e-5, 5e-5), (3, -4, 5)),
        "huge_scales": scaled((300.0, 700.0, 800.0), (3, -4, 5)),
        **int16_cases(scaled((0.0003, 0.0004, 0.0005), (0, 0, 0))),
    }


def product_cases() -> dict[str, Binary]:
    """For MUL: the product of two numbers of the whole range is seldom large."""
    case = Binary(y=Spec(SHAPE, 0.3, 4))
    return {
        "same_shape": case,
        **broadcasts(case),
        **constants(case),
        "relu": replace(case, activation="RELU", y=replace(case.y, zero_point=-60)),
        "relu6": replace(case, activation="RELU6", y=replace(case.y, scale=0.05, zero_point=-90)),
        "relu_n1_to_1": replace(case, activation="RELU_N1_TO_1", y=replace(case.y, scale=0.02)),
        "zero_points_lowest": scaled((0.05, 0.07, 0.6), (-128, -128, -128)),
        "zero_points_highest": scaled((0.05, 0.07, 0.6), (127, 127, -128)),
        "zero_points_mixed": scaled((0.05, 0.07, 0.6), (-128, 127, 127)),
        "multiplier_above_one": scaled((1.5, 2.0, 1.9), (-1, 2, 0)),
        "multiplier_one": scaled((0.5, 2.0, 1.0), (1, -1, 0)),
        "scale_ratio_million": scaled((1.0, 1e-6, 5e-5), (3, -4, 5)),
        "tiny_multiplier": scaled((0.01, 0.01, 1.0), (-128, 127, 5)),
        **int16_cases(scaled((0.0003, 0.0004, 0.002), (0, 0, 0))),
    }


def int16_cases(case: Binary) -> dict[str, Binary]:
    """The same in int16."""
    a, b, y = (replace(spec, dtype="int16") for spec in (case.a, case.b, case.y))
    wide = replace(case, a=a, b=b, y=y)
    return {
        "int16": wide,
        "int16_broadcast": wide.with_shapes(SHAPE, (3,), SHAPE),
        "int16_constant": replace(wide, constant="second"),
        "int16_relu": replace(wide, activation="RELU"),
    }


def uint8_cases(y_scale: float) -> dict[str, Binary]:
    """The same in uint8."""
    case = Binary(
        Spec(SHAPE, 0.05, 121, "uint8"),
        Spec(SHAPE, 0.07, 140, "uint8"),
        Spec(SHAPE, y_scale, 132, "uint8"),
    )
    return {
        "uint8": case,
        "uint8_broadcast": case.with_shapes(SHAPE, (3,), SHAPE),
        "uint8_constant_relu": replace(case, constant="second", activation="RELU"),
    }


def order_cases() -> dict[str, Binary]:
    """For MAXIMUM and MINIMUM, where all quantization is the same."""
    case = scaled((0.05, 0.05, 0.05), (-7, -7, -7))
    kept = ("one_element", "matrices", "channels", "channels_first", "one_number", "both")
    all_broadcasts = broadcasts(case)
    return {
        "same_shape": case,
        **{f"broadcast_{label}": all_broadcasts[f"broadcast_{label}"] for label in kept},
        "constant_first": constants(case)["constant_first"],
        "constant_channels": constants(case)["constant_channels"],
        "int16": int16_cases(case)["int16"],
    }


def _models(code: str, cases: dict[str, Binary], oracle: str = "micro") -> list[QuantizedModel]:
    return models(code.lower(), binary, {k: (code, case) for k, case in cases.items()}, oracle)


MODELS: list[QuantizedModel] = [
    *_models("ADD", sum_cases()),
    *_models("SUB", sum_cases()),
    *_models("MUL", product_cases()),
    *_models("MAXIMUM", order_cases()),
    *_models("MINIMUM", order_cases()),
    *_models("ADD", uint8_cases(0.08), "litert"),
    *_models("SUB", uint8_cases(0.08), "litert"),
    *_models("MUL", uint8_cases(0.3), "litert"),
]
