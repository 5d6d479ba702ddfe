"""OrderOperators: order the calls of the main PrimFunc for the least peak."""

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
    """Reorder the statements of `__tvm_main__` so that few bytes are live at once.

    Dependences stay in order (see `usmp.planning.operator_order.read_graph`). Both orders are
    planned, and the new one is taken only if its plan is smaller. If the effect of a statement is
    unknown, the module stays as it is. The attribute `usmp.search` of the module has the bytes of
    the orders, if there are several. Operators in strips (`usmp.relax.transform.SplitIntoStrips`)
    keep the order for which the strips were chosen: one strip after the other.

    The PassContext has the `PlanningOptions`; if its `disabled_pass` names this pass, the module
    stays as it is.

    Raises
    ------
    ValueError
        the module has a plan already or no `__tvm_main__`, or the planner refuses the module or the
        options.
    """

    reads, writes, uses = OrderStage.reads, OrderStage.writes, (SEARCHING,)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Reorder the statements, or return the module itself."""
        check_unplanned(mod)
        options = planning_options(context)
        with planning_session(options.deadline()) as session:
            return Search(session, options, [OrderStage()]).best(mod).mod
