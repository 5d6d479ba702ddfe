"""Records of what integer operators compute, as attributes of their PrimFuncs.

Accelerators, schedules and reports read records, because the body of a PrimFunc says how it
computes, not what, and its name is not meant to be parsed.
"""

from usmp.ops.records import elementwise, movement, products, recurrent, reductions, windowed
from usmp.ops.records.attributes import Steps, operator_of, operators_of, with_operators
from usmp.ops.records.base import KINDS, QuantizedOp

__all__ = [
    "KINDS",
    "QuantizedOp",
    "Steps",
    "elementwise",
    "movement",
    "operator_of",
    "operators_of",
    "products",
    "recurrent",
    "reductions",
    "windowed",
    "with_operators",
]
