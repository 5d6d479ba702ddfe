"""CreateAllocatesForIO: inputs and outputs become allocations of the main PrimFunc."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.passes import ModulePass
from usmp.planning.attribute_access import PLANNING
from usmp.planning.session import planning_session


@tvm.transform.module_pass(opt_level=0, name="usmp.CreateAllocatesForIO")
class CreateAllocatesForIO(ModulePass):
    """Replace the input and output parameters of `__tvm_main__` by annotated AllocBuffers.

    The planner then places inputs and outputs in the workspace pools with everything else. Which
    parameters are inputs and outputs is stated by the attributes `input_tensors` and
    `output_tensors` of `__tvm_main__`; they come first, inputs before outputs. Without these
    attributes it is inferred from what is read and written (`usmp.analysis.infer_io`), and the
    attributes are added; what may be both is annotated to live from entry to exit. Use case U4 of
    TVM's planner.

    Raises
    ------
    ValueError
        one of the attributes without the other, fewer parameters than they name, or a
        parameter whose size is not known or is not the declared one.
    """

    uses = (PLANNING,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `__tvm_main__`."""
        with planning_session() as session:
            return session.allocate_io(mod)
