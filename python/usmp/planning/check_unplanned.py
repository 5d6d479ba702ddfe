"""What every pass on the way to a plan asks of the module."""

from __future__ import annotations

from tvm.ir import IRModule

from usmp.objects.attributes import MAIN_FUNCTION_NAME, MEMORY_PLAN_ATTR


def check_unplanned(mod: IRModule) -> None:
    """Check that the module has a main function, and is not planned yet.

    Raises
    ------
    ValueError
        otherwise.
    """
    if mod.attrs and MEMORY_PLAN_ATTR in mod.attrs:
        raise ValueError("the module is planned already; plan the one that it was made from")
    if MAIN_FUNCTION_NAME not in [variable.name_hint for variable in mod.functions]:
        raise ValueError(f"main function is not in the module; it must be {MAIN_FUNCTION_NAME}")
