"""AssignPoolInfo: which pools may hold each allocation."""

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
    constants, in the user's order, which is the order of preference. A pool is a candidate if it
    lists the target of the PrimFunc that allocates and of every PrimFunc that accesses the buffer,
    with "rw" where it may write (see `function_targets`). Without
    pools of a kind there is one internal pool of that kind without limit: `global_workspace` or
    `global_const_workspace`. An AllocBuffer that has candidate pools already keeps them, so a
    schedule may exclude pools. RFC 0009, "Overview".

    If the module has the attribute `state_memory_pool`, that pool is the only candidate of states,
    and none of any other buffer. The attribute `state_layout` pins states to their places
    (RFC 0013).

    A pool with `io` "only" is no candidate of what is neither an input nor an output; inputs and
    outputs prefer it to all others. One with "no" is none of inputs and outputs. The pool of the
    attribute `io_memory_pool` is the only candidate of inputs and outputs.

    Raises
    ------
    ValueError
        a PrimFunc with allocations has no `target`; no pool, or a candidate pool that is
        there already, may be accessed by all targets that need it; pools that contradict each
        other in what they say about inputs and outputs.
    """

    uses = (PLANNING,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Annotate every PrimFunc."""
        with planning_session() as session:
            return session.assign_pools(mod)
