"""Functions that several operators share."""

from __future__ import annotations

from tvm import tirx

from usmp.objects.operator_attributes import MERGED_FUNCTIONS_ATTR, SHARED_FUNCTION_ATTR


def merged_functions(func: tirx.PrimFunc) -> list[str]:
    """The names of the functions that share this one; empty if it is another one."""
    return list(MERGED_FUNCTIONS_ATTR.of(func) or ())


def calls_shared_function(func: tirx.PrimFunc) -> bool:
    """Whether all that the function does is to call such a one."""
    return SHARED_FUNCTION_ATTR.is_on(func)
