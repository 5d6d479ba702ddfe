"""The buffers of a module, as the options of the planner see them."""

from __future__ import annotations

from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.analysis.extract_buffer_info import extract_buffer_info
from usmp.objects import BufferInfoAnalysis
from usmp.objects.attributes import MAIN_FUNCTION_NAME
from usmp.transform.assign_pool_info import AssignPoolInfo
from usmp.transform.create_allocates_for_io import CreateAllocatesForIO


def buffers_to_plan(mod: IRModule, context: PassContext) -> tuple[IRModule, BufferInfoAnalysis]:
    """The module with candidate pools, and what is known of its buffers.

    Reads from the PassContext `tir.usmp.use_workspace_io`, `tir.usmp.preserve_inputs` and
    `tir.usmp.overlap`.

    Raises
    ------
    ValueError: see `AssignPoolInfo` and `extract_buffer_info`.
    """
    if context.config.get("tir.usmp.use_workspace_io", False):
        mod = CreateAllocatesForIO()(mod)
    mod = AssignPoolInfo()(mod)
    overlap, preserve_inputs = sharing_options(context)
    main = mod[MAIN_FUNCTION_NAME]
    return mod, extract_buffer_info(main, mod, overlap, preserve_inputs)


def sharing_options(context: PassContext) -> tuple[bool, bool]:
    """Whether live buffers may overlap, and whether inputs stay intact."""
    overlap = bool(context.config.get("tir.usmp.overlap", True))
    return overlap, bool(context.config.get("tir.usmp.preserve_inputs", False))
