"""What makes memory be accessed later than the text says, or by several iterations at once."""

from __future__ import annotations

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
