"""AssignPoolInfo: which pools may hold each allocation."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.passes import ModulePass
from usmp.planning.session import planning_session


@tvm.transform.module_pass(opt_level=0, name="usmp.AssignPoolInfo")
class AssignPoolInfo(ModulePass):
    """Annotate each global AllocBuffer with the pools that may hold it.

    The pools are the module's `workspace_memory_pools`, and its `constant_memory_pools` for
    constants, in the user's order, which is the order of preference. A pool is a candidate if it
    lists the target of the PrimFunc that allocates and of every PrimFunc that accesses the buffer,
    with "rw" where it may write (see `function_targets`). Without
    pools of a kind there is one internal pool of that kind without limit: `global_workspace` or
    `global_const_workspace`. An AllocBuffer that has candidate pools already keeps them, so a
    schedule may exclude pools. RFC 0009, "Overview".

    If the module has the attribute `state_memory_pool`, that pool is the only candidate of states,
    and none of any other buffer. The attribute `state_layout` pins states to their places
    (RFC 0013).

    Raises
    ------
    ValueError
        a PrimFunc with allocations has no `target`; no pool, or a candidate pool that is
        there already, may be accessed by all targets that need it.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Annotate every PrimFunc."""
        with planning_session() as session:
            return session.assign_pools(mod)
