"""PassContexts with options of the planner, and without some of its passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.transform import PassContext

_DISABLED_PASS = "disabled_pass"


def planner_context(options: Mapping[str, Any], **others: Any) -> PassContext:
    """Return a PassContext with options of the planner, as "algorithm", and of TVM, by full names.

    The key "disabled_pass" has the passes that the context leaves out. `others` are further
    arguments of `PassContext`.
    """
    config = {
        name if "." in name else f"tir.usmp.{name}": value
        for name, value in options.items()
        if name != _DISABLED_PASS
    }
    return PassContext(config=config, disabled_pass=list(options.get(_DISABLED_PASS, ())), **others)
