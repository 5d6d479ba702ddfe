"""LowerMain: the Relax main function becomes the AoT main PrimFunc."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.target import Target

from usmp.aot.stages import copy_stage
from usmp.objects.attributes.annotations import (
    ALIGNMENT_ATTR,
    CONSTANT_DATA_ATTR,
    STATE_BYTES_ATTR,
    STATE_TENSOR_ATTR,
)
from usmp.objects.attributes.module_attributes import (
    EXTENDS_STATES_ATTR,
    INITIAL_STATES_ATTR,
    INPUT_QUANTIZATION_ATTR,
    INPUT_TENSORS_ATTR,
    OUTPUT_NAMES_ATTR,
    OUTPUT_QUANTIZATION_ATTR,
    OUTPUT_TENSORS_ATTR,
    SIZE_BOUNDS,
    STATE_MEMORY_POOL_ATTR,
    STATE_TENSORS_ATTR,
    STATES_ATTR,
    STATES_FLAG_ATTR,
    SYMBOLIC_SIZES_ATTR,
)
from usmp.objects.attributes.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.passes import ModulePass
from usmp.planning.attribute_access import SEARCHING
from usmp.planning.options import planning_options
from usmp.planning.search import Search
from usmp.planning.session import planning_session


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerMain")
class LowerMain(ModulePass):
    """Replace the Relax `main` by the AoT PrimFunc `__tvm_main__`, which calls the operators.

    `__tvm_main__` takes a typed pointer to each input and then to each output. It allocates states,
    intermediate tensors and constants with flat AllocBuffers. `main` may only call PrimFuncs of
    `LowerOperators` (`R.call_tir`, `R.call_tir_inplace`), reshapes, and slices, splits and concats
    along the outermost axis. Its attributes are `states` (see `StateInfo`), `output_names`,
    `input_quantization` and `output_quantization`.

    Slices and parts of concats are copied, or become views. Some combinations are planned, with the
    module's pools and executor and the options in the PassContext (see `PlanningOptions`), and the
    smallest plan is taken (`usmp.planning.search.stages.CopyStage`). Within a `planning_session`,
    the planner reuses plans and analyses.

    Parameters
    ----------
    target
        target of PrimFuncs that have none; by default they stay without.

    Raises
    ------
    UnsupportedModelError
        a callee is no operator PrimFunc, or a shape is not static.
    ValueError
        a state is no parameter and result of `main`, or the planner refuses a choice or an option.
    """

    reads = (
        *SIZE_BOUNDS,
        *(STATE_MEMORY_POOL_ATTR, OUTPUT_NAMES_ATTR, INPUT_QUANTIZATION_ATTR),
        *(OUTPUT_QUANTIZATION_ATTR, STATES_ATTR, INITIAL_STATES_ATTR, STATES_FLAG_ATTR),
        *(EXTENDS_STATES_ATTR, INPUT_TENSORS_ATTR, OUTPUT_TENSORS_ATTR, ACCELERATOR_FUNCTION_ATTR),
    )
    writes = (
        *(STATE_TENSORS_ATTR, INPUT_TENSORS_ATTR, OUTPUT_TENSORS_ATTR, SYMBOLIC_SIZES_ATTR),
        *(CONSTANT_DATA_ATTR, ALIGNMENT_ATTR, STATE_TENSOR_ATTR, STATE_BYTES_ATTR),
    )
    uses = (SEARCHING,)

    def __init__(self, target: Target | None = None) -> None:
        self.target = target

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Search the choices, and return the module of the best one."""
        options = planning_options(context)
        with planning_session(options.deadline()) as session:
            return Search(session, options, [copy_stage(self.target)]).best(mod).mod
