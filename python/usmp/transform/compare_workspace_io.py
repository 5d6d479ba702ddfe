"""CompareWorkspaceIO: the RAM of a model, were its inputs and outputs in the workspace."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.objects.attributes import RAM_WITH_WORKSPACE_IO_ATTR
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.planning.session import planning_session
from usmp.planning.workspace_io import is_comparable, ram_with_workspace_io


@tvm.transform.module_pass(opt_level=0, name="usmp.CompareWorkspaceIO")
class CompareWorkspaceIO(ModulePass):
    """Plan with inputs and outputs in the workspace, only to say how many bytes that would take.

    They become the attribute `ram_with_workspace_io` of the module, which reports read. The module
    stays without it where that is not asked (`usmp.planning.workspace_io.is_comparable`), and where
    there is no such plan.

    Reads from the PassContext what `PlanningOptions` says.

    Raises
    ------
    ValueError
        options that the planner refuses.
    """

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Add the attribute."""
        options = planning_options(context.config)
        if not is_comparable(mod, options):
            return mod
        with planning_session(options.deadline()) as session:
            ram_bytes = ram_with_workspace_io(session, mod, options)
        return mod if ram_bytes is None else mod.with_attr(RAM_WITH_WORKSPACE_IO_ATTR, ram_bytes)
