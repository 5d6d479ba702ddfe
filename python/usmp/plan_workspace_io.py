"""What a model would need with inputs and outputs in the workspace, planned for comparison."""

from __future__ import annotations

from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.names import PREFERENCE
from usmp.transform import OrderOperators
from usmp.transform.compare_plans import planned_peaks


def ram_with_workspace_io(mod: IRModule) -> int | None:
    """Bytes of all workspace pools, were inputs and outputs of `mod` planned too.

    `mod` is lowered, with its pools, and planned as the current PassContext says, but for a time
    budget. None if the planner refuses them there or no plan fits the pools; and with an algorithm
    of the user's, or pools that are chosen by what accesses cost, whose plans take longer to make.
    """
    current = PassContext.current()
    if (
        "tir.usmp.custom_algorithm" in current.config
        or current.config.get("tir.usmp.placement", PREFERENCE) != PREFERENCE
    ):
        return None
    config = {**current.config, "tir.usmp.use_workspace_io": True}
    try:
        with PassContext(opt_level=current.opt_level, config=config):
            peaks = planned_peaks(OrderOperators()(mod))
    except ValueError:
        return None
    return None if peaks is None else sum(peaks)
