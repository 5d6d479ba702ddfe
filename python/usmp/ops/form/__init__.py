"""The form of an operator: its reads, writes and values, extracted from its PrimFunc in blocks.

`form_of` returns the loop nests (`nests.py`). `along` finds which part of each operand is read for
a part of the output along an axis (`along.py`), and `part_of` builds the PrimFunc of such a part
(`part.py`); `taken` builds one of any index set, such as some channels (`taken.py`). An operator
without a form is computed as a whole.
"""

from usmp.ops.form.along import AxisAccess, AxisNest, AxisRead, Interval, along
from usmp.ops.form.nests import Form, Nest, form_of
from usmp.ops.form.part import part_of
from usmp.ops.form.taken import Taken, taken

__all__ = [
    "AxisAccess",
    "AxisNest",
    "AxisRead",
    "Form",
    "Interval",
    "Nest",
    "Taken",
    "along",
    "form_of",
    "part_of",
    "taken",
]
