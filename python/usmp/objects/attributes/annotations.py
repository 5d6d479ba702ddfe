"""The annotations of AllocBuffer statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tvm
from tvm import tirx

from usmp.objects.attributes.attribute import Annotation

if TYPE_CHECKING:
    from usmp.objects.pools import PoolInfo

_ALLOCATION, _OF_MAIN = "AllocBuffer", "AllocBuffer of `__tvm_main__`"


def _is_true(value: Any) -> bool:
    return bool(int(value))


def _as_script_reads_it(value: bool) -> tirx.IntImm:
    """Return a bool as TVMScript reads it."""
    return tirx.const(value, "bool")


CANDIDATE_POOLS_ATTR: Annotation[Sequence[PoolInfo]] = Annotation(
    "candidate_memory_pools",
    _ALLOCATION,
    "the pools that may hold it, most wanted first (RFC 0009, Overview)",
    encode=list,
)

CANDIDATE_MEMORY_POOL_ATTR = CANDIDATE_POOLS_ATTR.name
"""The name, as TVM calls it, for programs that write TIR."""

CONSTANT_DATA_ATTR: Annotation[tvm.runtime.Tensor] = Annotation(
    "constant_data", _ALLOCATION, "its content. The buffer is read-only"
)

FIXED_OFFSET_ATTR: Annotation[int] = Annotation(
    "fixed_offset", _ALLOCATION, "pins it to this byte offset of the pool that holds it", int
)

ALIGNMENT_ATTR: Annotation[int] = Annotation(
    "alignment",
    _ALLOCATION,
    "bytes of which its address must be a multiple, a power of two. That is beside what the "
    "executor and its elements need",
    int,
)

LIVE_THROUGHOUT_ATTR: Annotation[bool] = Annotation(
    "live_throughout",
    _ALLOCATION,
    "whether its content matters from entry to exit, whatever accesses it",
    _is_true,
    _as_script_reads_it,
)

INPUT_TENSOR_ATTR: Annotation[str] = Annotation(
    "input_tensor", _OF_MAIN, "the name of the model input that it holds", str
)

OUTPUT_TENSOR_ATTR: Annotation[str] = Annotation(
    "output_tensor", _OF_MAIN, "the name of the model output that it holds", str
)

STREAMED_TENSOR_ATTR: Annotation[str] = Annotation(
    "streamed_tensor",
    _ALLOCATION,
    "what it holds, as in 'input \"x\"', if that is given or taken row by row. So it must become "
    "a ring",
    str,
)

STATE_TENSOR_ATTR: Annotation[str] = Annotation(
    "state_tensor",
    _ALLOCATION,
    "the name of the state that it holds from one run to the next. It is live throughout, and "
    "shares its bytes with nothing",
    str,
)

STATE_BYTES_ATTR: Annotation[int] = Annotation(
    "state_bytes",
    _ALLOCATION,
    "how many bytes at its start are the state, if not all. What is behind them belongs to the run",
    int,
)
