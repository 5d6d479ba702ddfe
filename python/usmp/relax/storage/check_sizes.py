"""A check at the start of a function that its symbolic sizes are within their bounds.

Offsets of tensors are planned for the largest sizes. A larger tensor would overwrite its neighbors
in the storage, which the virtual machine does not notice.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm import tirx
from tvm.ir import StringImm

from usmp.objects.attributes.module_attributes import LOWER_BOUNDS_ATTR, UPPER_BOUNDS_ATTR
from usmp.tir.nodes import sequence


def size_check(name: str, bounds: Mapping[tirx.Var, tuple[int, int]]) -> tirx.PrimFunc:
    """Return a PrimFunc of the sizes that raises ValueError for a size out of bounds.

    Parameters
    ----------
    name
        name of the Relax function, for the message.
    bounds
        size -> its smallest and its largest value.
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
    # In TVM 0.27 the condition is the first argument, contrary to its documentation.
    return tirx.AssertStmt(condition, StringImm("ValueError"), [message])
