"""Operators and attributes with side effects on memory beyond the program order."""

from __future__ import annotations

from functools import cache

from tvm.ir import Call, Op

KEEP_A_POINTER = (
    "tirx.TVMBackendAnyListSetPackedArg",
    "tirx.dma_copy",
    "tirx.tvm_struct_set",
)
"""Operators that keep a pointer argument, so that its memory is accessed after the call."""

CONCURRENT_ATTRIBUTES = ("thread_extent", "virtual_thread", "pragma_parallel_launch_point")
"""Attributes of statements with several instances that run at once."""

ASYNCHRONOUS_ATTRIBUTES = ("async_scope", "async_commit_queue_scope")
"""Attributes of statements that may end after the next statement has begun."""


_ONLY_COMPUTES = 1
"""The largest `CallEffectKind` of operators without side effects."""


def has_effect(call: Call) -> bool:
    """Return whether a call may have a side effect."""
    kind = effect_kind(call.op.name) if type(call.op) is Op else None
    return kind is None or kind > _ONLY_COMPUTES


@cache
def effect_kind(operator: str) -> int | None:
    """Return TVM's `CallEffectKind` of an operator; None where TVM has none."""
    kind = Op.get(operator).get_attr("TCallEffectKind")
    return None if kind is None else int(kind)
