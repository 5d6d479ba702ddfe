"""From a Relax module to AoT TIR: legalise, fuse, schedule for memory, lower."""

from __future__ import annotations

from tvm.ir import IRModule

from usmp.objects.attributes import OUTPUT_NAMES_ATTR
from usmp.relax.check_static_shapes import check_static_shapes
from usmp.relax.frontend import import_model
from usmp.relax.fuse_operators import FuseOperators
from usmp.relax.io_quantisation import io_quantisation, tell_quantisation
from usmp.relax.lower_main import lower_main
from usmp.relax.lower_operators import lower_operators
from usmp.relax.normalise_take_indices import normalise_take_indices
from usmp.relax.qdq import use_integer_operators
from usmp.relax.schedule_operators import schedule_operators


def lower_to_aot(mod: IRModule) -> IRModule:
    """Lower the Relax `main` of `mod` to `__tvm_main__` and flat operator PrimFuncs.

    Raises
    ------
    UnsupportedModelError: something in the model has no static C; the message names it.
    """
    check_static_shapes(mod)
    names = mod["main"].attrs.get(OUTPUT_NAMES_ATTR) if mod["main"].attrs else None
    quantisation = io_quantisation(mod["main"])
    mod = normalise_take_indices(mod)
    mod = use_integer_operators(mod)
    mod = FuseOperators(mod)
    mod = schedule_operators(mod)
    mod = lower_operators(mod)
    mod = lower_main(mod, [str(name) for name in names] if names else None)
    return tell_quantisation(mod, quantisation)


__all__ = ["import_model", "lower_to_aot"]
