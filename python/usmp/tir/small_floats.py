"""Floating-point types that operators compute in float32."""

SMALL_FLOATS = ("float16", "bfloat16")
"""C has neither type; `usmp.transform.WidenSmallFloats` converts what is loaded."""

STORED_AS_INTEGERS = (*SMALL_FLOATS, "float8_e4m3fn", "float8_e5m2")
"""What C keeps in integers of the same bits."""
