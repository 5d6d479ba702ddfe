"""Operators for accelerators: matched by patterns, implemented by the user in C.

TVM calls this BYOC, bring your own codegen. `quantized_operator` and `state_kernel` are for users.
The passes are `PartitionForAccelerators` and `LowerAcceleratorFunctions` in `usmp.relax.transform`.
"""

from __future__ import annotations

from usmp.relax.accelerators.kernels import state_kernel
from usmp.relax.accelerators.patterns import (
    patterns_of,
    quantized_operator,
    registered_accelerators,
)
from usmp.support.renamed import renamed

__all__ = ["patterns_of", "quantized_operator", "registered_accelerators", "state_kernel"]

__getattr__ = renamed(__name__, {"quantised_operator": "quantized_operator"})
