"""Analyses and passes on Relax modules, before they become TIR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usmp.support.renamed import renamed

# Hidden from type checkers, which accept any name of a module with `__getattr__`.
if not TYPE_CHECKING:
    __getattr__ = renamed(
        __name__,
        {"import_model": "usmp.import_model", "lower_to_aot": "usmp.aot_pipeline.lower_to_aot"},
    )
