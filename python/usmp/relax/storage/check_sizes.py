"""A check, as a function begins, that its symbolic sizes are within their bounds.

Tensors lie next to each other at the places of the largest sizes. A larger one would reach into its
neighbors, within the storage of all, so that the virtual machine does not notice.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm import tirx
from tvm.ir import StringImm

from usmp.objects.attributes import LOWER_BOUNDS_ATTR, UPPER_BOUNDS_ATTR
from usmp.tir.nodes import sequence


def size_check(name: str, bounds: Mapping[tirx.Var, tuple[int, int]]) -> tirx.PrimFunc:
    """A PrimFunc of the sizes, which raises ValueError for one that is out of its bounds.

    Parameters
    ----------
    name
        of the Relax function, for the message.
    bounds
        the smallest and the largest value of each size.
    """
    params = [tirx.Var(str(size.name), "int64") for size in bounds]
    checks = []
    for size, (least, most) in zip(params, bounds.values(), strict=True):
        checks.append(_check(size <= most, f'{name}: "{size.name}" is above {most}', "upper"))
        if least > 0:
            checks.append(_check(size >= least, f'{name}: "{size.name}" is below {least}', "lower"))
    return tirx.PrimFunc(params, sequence(checks)).with_attr("tirx.is_host_func", True)


def _check(condition: tirx.Expr, fault: str, side: str) -> tirx.Stmt:
    attribute = UPPER_BOUNDS_ATTR if side == "upper" else LOWER_BOUNDS_ATTR
    message = StringImm(f"{fault}, its {side} bound in {attribute}")
    # TVM 0.27 has the first two in another order than it says.
    return tirx.AssertStmt(condition, StringImm("ValueError"), [message])
