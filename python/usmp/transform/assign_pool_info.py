"""AssignPoolInfo: annotate allocations with the pools that may hold them."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.passes import ModulePass
from usmp.planning.attribute_access import PLANNING
from usmp.planning.session import planning_session


@tvm.transform.module_pass(opt_level=0, name="usmp.AssignPoolInfo")
class AssignPoolInfo(ModulePass):
    """Annotate each global AllocBuffer with the pools that may hold it.

    The pools are the module's `workspace_memory_pools`, and its `constant_memory_pools` for
    constants, in the user's order of preference. A pool is a candidate if it lists the target of
    the PrimFunc that allocates and of every PrimFunc that accesses the buffer, with "rw" for writes
    (see `function_targets`). If the module lists no pools of a kind, it gets one internal pool of
    that kind without a limit: `global_workspace` or `global_const_workspace`. An AllocBuffer keeps
    candidate pools that it has, so a schedule may exclude pools. TVM's RFC 0009, "Overview".

    The pool of the attribute `state_memory_pool` is the only candidate of states, and no candidate
    of other buffers. The attribute `state_layout` pins states (rfcs/0013-state-layout.md).

    A pool with `io` "only" is a candidate of inputs and outputs only, which prefer it to all
    others. A pool with `io` "no" is a candidate of all other buffers only. The pool of the
    attribute `io_memory_pool` is the only candidate of inputs and outputs.

    Raises
    ------
    ValueError
        a PrimFunc with allocations has no `target`; no pool permits the accesses of all targets, or
        an earlier candidate pool does not; pools contradict each other about inputs and outputs.
    """

    uses = (PLANNING,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Annotate every PrimFunc."""
        with planning_session() as session:
            return session.assign_pools(mod)
