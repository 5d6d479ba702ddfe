"""Module variants with image channels first and last."""

from __future__ import annotations

from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import FLOAT_OPERATORS_ATTR
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import symbolic_sizes_of
from usmp.relax.transform.qdq import (
    copies_pay,
    is_quantized,
    put_channels_last,
    use_integer_operators,
)


def float_channels_last(mod: IRModule) -> IRModule | None:
    """Return the module with channels-last float convolutions, or None if it has none with channels
    first, is quantized, or has symbolic sizes."""
    main = main_function(mod)
    if is_quantized(main) or symbolic_sizes_of(main):
        return None
    channels_last = put_channels_last(mod, of_floats=True)
    return None if channels_last is mod else channels_last


def integer_layouts(mod: IRModule) -> tuple[IRModule, IRModule | None]:
    """Return the module in integers, with channels as they are and with channels last.

    The second is None if it equals the first, if it copies many images, or if a float convolution
    remains, whose sums would be computed in another order.
    """
    as_it_is = use_integer_operators(mod)
    if as_it_is is mod:
        return mod, None
    channels_last = put_channels_last(mod)
    if channels_last is mod:
        return as_it_is, None
    channels_last = use_integer_operators(channels_last)
    pays = not _has_float_convolutions(channels_last) and copies_pay(as_it_is, channels_last)
    return as_it_is, channels_last if pays else None


def _has_float_convolutions(mod: IRModule) -> bool:
    operators = FLOAT_OPERATORS_ATTR.of(mod) or {}
    return any(str(name).startswith("conv") for name in operators)
