"""The form of an operator: what it reads, writes and computes, read from its PrimFunc in blocks.

`form_of` gives the loop nests (`nests.py`). `along` says which part of each operand is read for a
part of the output along an axis (`along.py`), and `part_of` makes the PrimFunc that computes that
part (`part.py`); `taken` makes the one that computes any indices, as some channels (`taken.py`).
What has no form is computed as a whole.
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
