"""What an integer operator computes, as data that stays with its PrimFunc.

Accelerators, which compute it in another way, schedules and reports read it: the name of a PrimFunc
is not theirs to parse, and its body says how something is computed, not what.
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
