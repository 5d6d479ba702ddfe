"""Converters of PyTorch's PT2E quantizers to `R.quantize` and `R.dequantize`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import Expr

QuantizerConverter = Callable[[Any, relax.BlockBuilder, Callable[[Any], Any]], Expr]
"""Appends the operator of a node to a builder; the last parameter is a function that returns an
argument of the node in Relax."""

_TENSOR_ARGUMENTS = ("input", "scale", "zero_point", "quant_min", "quant_max", "dtype")
_CHANNEL_ARGUMENTS = ("input", "scales", "zero_points", "axis", "quant_min", "quant_max", "dtype")


def quantizer_converters(
    constants: Mapping[str, np.ndarray],
) -> dict[str, QuantizerConverter]:
    """Return operator name -> converter.

    Parameters
    ----------
    constants
        name of a node -> value of a parameter, buffer or constant. Scales and zero points are
        looked up here, so that they become constants in Relax.
    """
    converters: dict[str, QuantizerConverter] = {}
    for kind in ("quantize", "dequantize"):
        for overload in ("default", "tensor", "tensor2"):
            converters[f"{kind}_per_tensor.{overload}"] = _Converter(
                kind == "quantize", _TENSOR_ARGUMENTS, constants
            )
        converters[f"{kind}_per_channel.default"] = _Converter(
            kind == "quantize", _CHANNEL_ARGUMENTS, constants
        )
    return converters


@dataclass(frozen=True)
class _Converter:
    """A converter of an operator with these argument names."""

    is_quantize: bool
    arguments: tuple[str, ...]
    constants: Mapping[str, np.ndarray]

    def __call__(
        self, node: Any, builder: relax.BlockBuilder, argument: Callable[[Any], Any]
    ) -> Expr:
        options = dict(zip(self.arguments, node.args, strict=False)) | dict(node.kwargs)
        data, scale, zero_point = (options.get(name) for name in self.arguments[:3])
        stored = str(options["dtype"]).removeprefix("torch.")
        scales = relax.const(self._value(scale).astype("float32"))
        zeros = np.zeros_like(self._value(scale)) if zero_point is None else self._value(zero_point)
        parameters = (scales, relax.const(zeros.astype(stored)), int(options.get("axis", -1)))
        if not self.is_quantize:
            return builder.emit(relax.op.dequantize(argument(data), *parameters, "float32"))
        result = builder.emit(relax.op.quantize(argument(data), *parameters, stored))
        low, high = options["quant_min"], options["quant_max"]
        limits = np.iinfo(stored)
        if low <= limits.min and high >= limits.max:
            return result
        # The range is smaller than the type's: fewer bits, or symmetric weights.
        return builder.emit(relax.op.clip(result, low, high))

    def _value(self, argument: Any) -> np.ndarray:
        """Return a scale or zero point; per tensor, a vector of one element becomes a scalar."""
        name = getattr(argument, "name", None)
        if name is None:
            return np.asarray(argument)
        if name not in self.constants:
            raise ValueError(f"the quantization parameter {name} is computed at run time")
        value = self.constants[name]
        return value.reshape(()) if "axis" not in self.arguments and value.size == 1 else value
