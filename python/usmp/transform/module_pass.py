"""The base of the passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.ir import IRModule


class ModulePass:
    """Tells type checkers what `tvm.transform.module_pass` makes of a class."""

    if TYPE_CHECKING:

        def __call__(self, mod: IRModule) -> IRModule:
            """Apply the pass to a module."""
