"""From a Relax module to AoT TIR: legalize, fuse, schedule for memory, lower."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir import IRModule

from usmp.aot.accelerator_devices import take_devices
from usmp.aot.lower_operators import lower_operators
from usmp.aot.main_candidates import LoweredOperators, MainCandidates
from usmp.aot.schedule_operators import schedule_operators
from usmp.objects.attributes import OUTPUT_NAMES_ATTR
from usmp.planning.candidates import fewest_bytes
from usmp.planning.options import planning_options
from usmp.planning.session import planning_session
from usmp.relax.count_iterations import check_iterations
from usmp.relax.io_quantization import io_quantization
from usmp.relax.static_shapes import check_static_shapes
from usmp.relax.transform.fuse_operators import FuseOperators
from usmp.relax.transform.legalize_errors import apply_to_operators
from usmp.relax.transform.lower_accelerator_functions import lower_accelerator_functions
from usmp.relax.transform.make_parameter_names_unique import make_parameter_names_unique
from usmp.relax.transform.normalize_copies import normalize_copies
from usmp.relax.transform.normalize_take_indices import normalize_take_indices
from usmp.relax.transform.partition_for_accelerators import partition_for_accelerators
from usmp.relax.transform.qdq import use_integer_operators


def lower_to_aot(
    mod: IRModule,
    accelerators: Sequence[str] = (),
    symbol_prefix: str = "tvmgen_default",
) -> IRModule:
    """Lower the Relax `main` of `mod` to `__tvm_main__` and flat operator PrimFuncs.

    How memory will be planned is read from the PassContext (see `fewest_bytes`). Where the code
    will run, and in which pools its buffers will be, is not known yet.

    Parameters
    ----------
    accelerators
        targets that take what their patterns match, the one that chooses first in front.
    symbol_prefix
        of the C functions that they run.

    Raises
    ------
    UnsupportedModelError
        something in the model has no static C; the message names it.
    ValueError
        the module has a function for a target that is not among `accelerators`; options
        that the planner refuses.
    """
    candidates = MainCandidates(lower_to_operators(mod, accelerators, symbol_prefix))
    with planning_session() as session:
        return fewest_bytes(session, planning_options(), candidates.make).mod


def lower_to_operators(
    mod: IRModule, accelerators: Sequence[str], symbol_prefix: str
) -> LoweredOperators:
    """Lower everything but `main`; parameters and errors as for `lower_to_aot`."""
    check_static_shapes(mod)
    mod = make_parameter_names_unique(mod)
    names = mod["main"].attrs.get(OUTPUT_NAMES_ATTR) if mod["main"].attrs else None
    quantization = io_quantization(mod["main"])
    mod = normalize_copies(normalize_take_indices(mod))
    mod = use_integer_operators(mod)
    mod = partition_for_accelerators(mod, accelerators)
    mod = lower_accelerator_functions(mod, accelerators, symbol_prefix)
    mod = apply_to_operators(FuseOperators, mod)
    check_iterations(mod)
    mod = schedule_operators(mod)
    mod = take_devices(lower_operators(mod))
    return LoweredOperators(mod, [str(name) for name in names] if names else None, quantization)
