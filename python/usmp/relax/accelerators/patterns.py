"""Patterns of operators that an accelerator takes, beside those that TVM can write itself."""

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
        kind of the integer operator, as "conv2d", "depthwise_conv2d", "fully_connected",
        "add", "max_pool" or "softmax": `usmp.ops.records.KINDS` has them all.
    check
        whether to take an operator that matches; all of them by default.
    workspace_bytes
        scratch memory that the function is to be given.

    Raises
    ------
    ValueError
        there is no such operator.
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
"""On a function for an accelerator: bytes of scratch memory that it is to be given. TVM's name."""


_MODULE: ContextVar[IRModule | None] = ContextVar("module", default=None)
"""What patterns are matched in: TVM does not pass it to their checks."""


@contextmanager
def matching_in(mod: IRModule) -> Iterator[None]:
    """While patterns are matched in `mod`, `quantized_operator` reads the records there."""
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
    """The record of the operator that an `R.call_tir` computes; None if it is no integer one."""
    func = mod[call.args[0]]
    return operator_of(func) if isinstance(func, tirx.PrimFunc) else None


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
