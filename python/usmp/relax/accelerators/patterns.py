"""Patterns of integer operators for accelerators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from tvm import tirx
from tvm.ir import Call, IRModule, Op
from tvm.relax.backend import pattern_registry
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix
from tvm.relax.dpl import CallPattern, ExprPattern, GlobalVarPattern, wildcard
from tvm.relax.transform import FusionPattern, PatternCheckContext

from usmp.ops.records import KINDS, QuantizedOp, operator_of

Check: TypeAlias = Callable[[PatternCheckContext], bool]
PatternEntry: TypeAlias = (
    "tuple[str, CallPattern, dict[str, Any], Check, Callable[..., Any] | None]"
)
"""The fields of a `FusionPattern`, as `register_patterns` accepts them."""


def quantized_operator(
    name: str,
    operator: str,
    check: Check | None = None,
    workspace_bytes: int = 0,
) -> PatternEntry:
    """Return a pattern of one integer operator of a quantized model.

    Register it with `tvm.relax.backend.pattern_registry.register_patterns`.

    Parameters
    ----------
    name
        accelerator, point, name of the pattern, as "accel.conv2d".
    operator
        kind of the integer operator, as "conv2d", "depthwise_conv2d", "fully_connected", "add",
        "max_pool" or "softmax": see `usmp.ops.records.KINDS`.
    check
        returns whether to take an operator that matches; by default all are taken.
    workspace_bytes
        bytes of scratch memory for the function.

    Raises
    ------
    ValueError
        `operator` is unknown.
    """
    if operator not in KINDS:
        raise ValueError(
            f'pattern "{name}": no integer operator is called "{operator}"; there are '
            f"{', '.join(sorted(KINDS))}"
        )

    def is_wanted(context: PatternCheckContext) -> bool:
        record = record_of(context.matched_expr, _module_of_check(name))
        if record is None or record.kind != operator:
            return False
        return check is None or bool(check(context))

    def attributes(_: object) -> dict[str, int]:
        return {WORKSPACE_SIZE_ATTR: workspace_bytes}

    pattern = CallPattern(ExprPattern(Op.get("relax.call_tir")), [GlobalVarPattern(), wildcard()])
    return name, pattern, {}, is_wanted, attributes if workspace_bytes else None


WORKSPACE_SIZE_ATTR = "WorkspaceSize"
"""TVM's attribute of a function for an accelerator: bytes of scratch memory."""


_MODULE: ContextVar[IRModule | None] = ContextVar("module", default=None)
"""The module in which patterns are matched, because TVM does not pass it to their checks."""


@contextmanager
def matching_in(mod: IRModule) -> Iterator[None]:
    """Let checks of `quantized_operator` read records from `mod` in this context."""
    token = _MODULE.set(mod)
    try:
        yield
    finally:
        _MODULE.reset(token)


def _module_of_check(name: str) -> IRModule:
    mod = _MODULE.get()
    if mod is None:
        raise ValueError(
            f'pattern "{name}" reads what the module says of its operators; match it by '
            "usmp.relax.transform.partition_for_accelerators, which knows the module"
        )
    return mod


def record_of(call: Call, mod: IRModule) -> QuantizedOp | None:
    """Return the record of the operator that an `R.call_tir` calls, or None."""
    func = mod[call.args[0]]
    return operator_of(func) if isinstance(func, tirx.PrimFunc) else None


def registered_accelerators() -> list[str]:
    """Return the names of the accelerators that have patterns, in alphabetical order."""
    return sorted({str(pattern.name).partition(".")[0] for pattern in _registered("")})


def patterns_of(accelerator: str) -> list[FusionPattern]:
    """Return the registered patterns of an accelerator, highest priority first."""
    return _registered(f"{accelerator}.")


def _registered(prefix: str) -> list[FusionPattern]:
    patterns = list(get_patterns_with_prefix(prefix))
    # TVM must empty its registry before Python exits, or it crashes, but it forgets patterns that
    # were registered as objects, not as tuples.
    pattern_registry._REGISTERED_PATTERN_NAMES.update(str(pattern.name) for pattern in patterns)
    return patterns
