"""Patterns of operators that an accelerator takes, beside those that TVM can write itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from tvm.ir import Call, Op
from tvm.relax.backend import pattern_registry
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix
from tvm.relax.dpl import CallPattern, ExprPattern, GlobalVarPattern, wildcard
from tvm.relax.transform import FusionPattern, PatternCheckContext

Check: TypeAlias = Callable[[PatternCheckContext], bool]
PatternEntry: TypeAlias = (
    "tuple[str, CallPattern, dict[str, Any], Check, Callable[..., Any] | None]"
)
"""What `FusionPattern` is made of, which `register_patterns` takes too."""


def quantized_operator(
    name: str,
    operator: str,
    check: Check | None = None,
    workspace_bytes: int = 0,
) -> PatternEntry:
    """A pattern for one integer operator, as quantized models of TFLite and ONNX become.

    Register it with `tvm.relax.backend.pattern_registry.register_patterns`.

    Parameters
    ----------
    name
        the accelerator, a point and what the pattern is called, as "accel.conv2d".
    operator
        name of the integer operator, as "conv2d", "depthwise_conv2d", "fully_connected",
        "add", "max_pool" or "softmax"; `tvmc compile` without the accelerator emits a C function
        `tvmgen_<module>_<operator>` for it.
    check
        whether to take an operator that matches; all of them by default.
    workspace_bytes
        scratch memory that the function is to be given.
    """

    def is_wanted(context: PatternCheckContext) -> bool:
        if operator_name(context.matched_expr) != operator:
            return False
        return check is None or bool(check(context))

    def attributes(_: object) -> dict[str, int]:
        return {WORKSPACE_SIZE_ATTR: workspace_bytes}

    pattern = CallPattern(ExprPattern(Op.get("relax.call_tir")), [GlobalVarPattern(), wildcard()])
    return name, pattern, {}, is_wanted, attributes if workspace_bytes else None


WORKSPACE_SIZE_ATTR = "WorkspaceSize"
"""On a function for an accelerator: bytes of scratch memory that it is to be given. TVM's name."""


def operator_name(call: Call) -> str:
    """What the PrimFunc of an `R.call_tir` was called before Relax numbered its namesakes."""
    return re.sub(r"\d+$", "", str(call.args[0].name_hint))


def registered_accelerators() -> list[str]:
    """The names of the accelerators that have patterns, in alphabetical order."""
    return sorted({str(pattern.name).partition(".")[0] for pattern in _registered("")})


def patterns_of(accelerator: str) -> list[FusionPattern]:
    """The patterns that are registered for an accelerator, highest priority first."""
    return _registered(f"{accelerator}.")


def _registered(prefix: str) -> list[FusionPattern]:
    patterns = list(get_patterns_with_prefix(prefix))
    # TVM empties its registry before Python ends, since it would crash afterwards, but forgets
    # patterns that were registered as objects and not as tuples.
    pattern_registry._REGISTERED_PATTERN_NAMES.update(str(pattern.name) for pattern in patterns)
    return patterns
