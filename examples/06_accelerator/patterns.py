"""What the accelerator of this example takes: convolutions of int8, each with a little scratch.

Loaded by `tvmc compile --extension`; in Python, import it before `usmp.build`.
"""

from __future__ import annotations

from tvm.relax.backend.pattern_registry import register_patterns

from usmp.relax.accelerators import quantized_operator

# The accelerator adds up one output position at a time: 64 accumulators of 4 bytes.
SCRATCH_BYTES = 64 * 4

register_patterns(
    [quantized_operator("accel.conv2d", "conv2d", workspace_bytes=SCRATCH_BYTES)],
)
