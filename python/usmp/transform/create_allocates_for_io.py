"""CreateAllocatesForIO: turn inputs and outputs into allocations of the main PrimFunc."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.passes import ModulePass
from usmp.planning.attribute_access import PLANNING
from usmp.planning.session import planning_session


@tvm.transform.module_pass(opt_level=0, name="usmp.CreateAllocatesForIO")
class CreateAllocatesForIO(ModulePass):
    """Replace the input and output parameters of `__tvm_main__` by annotated AllocBuffers.

    The planner then places inputs and outputs in the workspace pools with everything else. The
    attributes `input_tensors` and `output_tensors` of `__tvm_main__` state which parameters these
    are: the first ones, inputs before outputs. Without the attributes, reads and writes decide it
    (`usmp.analysis.infer_io`), and the pass adds the attributes; tensors that may be both are
    annotated to live from entry to exit. Use case U4 of TVM's planner.

    Raises
    ------
    ValueError
        only one of the attributes is present, there are fewer parameters than they name, or the
        size of a parameter is unknown or is not the declared one.
    """

    uses = (PLANNING,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `__tvm_main__`."""
        with planning_session() as session:
            return session.allocate_io(mod)
