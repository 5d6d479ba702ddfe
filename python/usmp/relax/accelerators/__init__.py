"""Operators that accelerators compute: chosen by patterns, written by the user in C.

TVM calls it BYOC, bring your own codegen. `quantised_operator` is for users; the others are the
steps of `usmp.build`.
"""

from usmp.relax.accelerators.calls import pass_devices, take_devices
from usmp.relax.accelerators.lower import lower_accelerator_functions
from usmp.relax.accelerators.partition import partition_for_accelerators
from usmp.relax.accelerators.patterns import (
    patterns_of,
    quantised_operator,
    registered_accelerators,
)

__all__ = [
    "lower_accelerator_functions",
    "partition_for_accelerators",
    "pass_devices",
    "patterns_of",
    "quantised_operator",
    "registered_accelerators",
    "take_devices",
]
