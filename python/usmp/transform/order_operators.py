"""OrderOperators: the calls of the main PrimFunc in an order with the least peak."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.algorithms import DEFAULT_ALGORITHM
from usmp.objects.attributes import MAIN_FUNCTION_NAME, OPERATOR_ORDER_ATTR
from usmp.planning.operator_order.least_peak import least_peak_order
from usmp.planning.operator_order.read_graph import operator_graph
from usmp.transform.buffers_to_plan import sharing_options
from usmp.transform.check_unplanned import check_unplanned
from usmp.transform.compare_plans import is_better_planned
from usmp.transform.create_allocates_for_io import CreateAllocatesForIO
from usmp.transform.module_pass import ModulePass

_DECLARATIONS = tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind


@tvm.transform.module_pass(opt_level=0, name="tir.usmp.OrderOperators")
class OrderOperators(ModulePass):
    """Let the statements of `__tvm_main__` follow each other so that few bytes are live at once.

    Only what depends on nothing in between changes places (see
    `usmp.planning.operator_order.read_graph`), and only if the plan is smaller then: both orders
    are planned. If it is not certain what a statement does, the module stays as it is. Where there
    are several orders, the attribute `operator_order` of the module tells what they need.

    Reads from the PassContext `tir.usmp.order_operators` (0 changes nothing), `tir.usmp.algorithm`,
    and what decides who is live with whom: `tir.usmp.use_workspace_io`, `tir.usmp.preserve_inputs`
    and `tir.usmp.overlap`.

    Raises
    ------
    ValueError: a module that is planned already or has no `__tvm_main__`, or one that the planner
        refuses.
    """

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Reorder the statements, or return the module itself."""
        check_unplanned(mod)
        algorithm = str(context.config.get("tir.usmp.algorithm", DEFAULT_ALGORITHM))
        is_wanted = context.config.get("tir.usmp.order_operators", True)
        if not is_wanted or algorithm == "no_sharing":
            return mod
        overlap, preserve_inputs = sharing_options(context)
        with_io = context.config.get("tir.usmp.use_workspace_io", False)
        # Inputs and outputs count if they are allocated; the statements stay the same.
        graph = operator_graph(
            CreateAllocatesForIO()(mod) if with_io else mod, preserve_inputs, overlap
        )
        if graph is None:
            return mod
        found = least_peak_order(graph)
        ordered, live_bytes = mod, found.importer_peak_bytes
        if found.peak_bytes < found.importer_peak_bytes:
            ordered = with_order(mod, found.order)
            if is_better_planned(ordered, mod):
                live_bytes = found.peak_bytes
            else:
                ordered = mod
        return ordered.with_attr(
            OPERATOR_ORDER_ATTR,
            {
                "importer_live_bytes": found.importer_peak_bytes,
                "live_bytes": live_bytes,
                "least_live_bytes": found.lower_bound_bytes,
            },
        )


def with_order(mod: IRModule, order: Sequence[int]) -> IRModule:
    """All declarations of `__tvm_main__`, then the other statements in this order."""
    main = mod[MAIN_FUNCTION_NAME]
    parts = tirx.stmt_list(main.body)
    declarations = [stmt for stmt in parts if isinstance(stmt, _DECLARATIONS)]
    statements = [stmt for stmt in parts if not isinstance(stmt, _DECLARATIONS)]
    body = tirx.SeqStmt([*declarations, *(statements[index] for index in order)])
    ordered = IRModule(mod.functions, attrs=mod.attrs)
    ordered.update_func(mod.get_global_var(MAIN_FUNCTION_NAME), main.with_body(body))
    return ordered
