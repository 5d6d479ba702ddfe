"""PrimFuncs that several operators share."""

from __future__ import annotations

from tvm import tirx

from usmp.objects.attributes.operator_attributes import MERGED_FUNCTIONS_ATTR, SHARED_FUNCTION_ATTR


def merged_functions(func: tirx.PrimFunc) -> list[str]:
    """Return the names of the functions that share `func`; empty if it is not shared."""
    return list(MERGED_FUNCTIONS_ATTR.of(func) or ())


def calls_shared_function(func: tirx.PrimFunc) -> bool:
    """Return whether a function only calls a shared function."""
    return SHARED_FUNCTION_ATTR.is_on(func)
