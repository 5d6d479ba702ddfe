"""What makes memory be accessed later than the text says, or by several iterations at once."""

from __future__ import annotations

from functools import cache

from tvm.ir import Call, Op

KEEP_A_POINTER = (
    "tirx.TVMBackendAnyListSetPackedArg",
    "tirx.dma_copy",
    "tirx.tvm_struct_set",
)
"""Operators after which memory is accessed through a pointer that they were given."""

CONCURRENT_ATTRIBUTES = ("thread_extent", "virtual_thread", "pragma_parallel_launch_point")
"""Attributes of statements of which several instances run at once."""

ASYNCHRONOUS_ATTRIBUTES = ("async_scope", "async_commit_queue_scope")
"""Attributes of statements that go on after the next one has begun."""


_ONLY_COMPUTES = 1
"""The greatest `CallEffectKind` of operators that only compute a value."""


def has_effect(call: Call) -> bool:
    """Whether a call may do more than to compute a value."""
    kind = effect_kind(call.op.name) if type(call.op) is Op else None
    return kind is None or kind > _ONLY_COMPUTES


@cache
def effect_kind(operator: str) -> int | None:
    """TVM's `CallEffectKind` of an operator; None where TVM does not say."""
    kind = Op.get(operator).get_attr("TCallEffectKind")
    return None if kind is None else int(kind)
