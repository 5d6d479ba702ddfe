"""OrderOperators: the calls of the main PrimFunc in an order with the least peak."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.passes import ModulePass
from usmp.planning.attribute_access import SEARCHING
from usmp.planning.check_unplanned import check_unplanned
from usmp.planning.options import planning_options
from usmp.planning.search import Search
from usmp.planning.search.stages import OrderStage
from usmp.planning.session import planning_session


@tvm.transform.module_pass(opt_level=0, name="usmp.OrderOperators")
class OrderOperators(ModulePass):
    """Let the statements of `__tvm_main__` follow each other so that few bytes are live at once.

    Only what depends on nothing in between changes places (see
    `usmp.planning.operator_order.read_graph`), and only if the plan is smaller then: both orders
    are planned. If it is not certain what a statement does, the module stays as it is. Where there
    are several orders, the attribute `usmp.search` of the module says what they need. Operators
    in strips (`usmp.relax.transform.SplitIntoStrips`) stay in their order, for which they were
    chosen: one strip after the other.

    Reads from the PassContext what `PlanningOptions` says; `tir.usmp.order_operators` false changes
    nothing.

    Raises
    ------
    ValueError
        a module that is planned already or has no `__tvm_main__`, or one that the planner
        refuses; options that it refuses.
    """

    reads, writes, uses = OrderStage.reads, OrderStage.writes, (SEARCHING,)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Reorder the statements, or return the module itself."""
        check_unplanned(mod)
        options = planning_options(context.config)
        with planning_session(options.deadline()) as session:
            return Search(session, options, [OrderStage()]).best(mod).mod
