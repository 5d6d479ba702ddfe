"""FoldUnchangedStates: states that never change become constants."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import STATES_ATTR
from usmp.passes import ModulePass
from usmp.relax.shared_states import share_states


@tvm.transform.module_pass(opt_level=0, name="usmp.FoldUnchangedStates")
class FoldUnchangedStates(ModulePass):
    """Replace each state that `main` does not change by its initial value, a constant.

    `main` must be the only entry, because others could change the state.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    ValueError
        a state is no parameter or no result of `main`, or has another type.
    """

    reads = (STATES_ATTR,)
    writes = (STATES_ATTR,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Bind the parameters, and remove the results."""
        return share_states({"main": mod})["main"]
