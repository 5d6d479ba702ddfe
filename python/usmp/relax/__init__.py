"""Relax to Relax: what is known of a model before it becomes TIR, and the passes over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usmp.support.renamed import renamed

# Type checkers would take any name for one of this package, if they saw that function.
if not TYPE_CHECKING:
    __getattr__ = renamed(
        __name__,
        {"import_model": "usmp.import_model", "lower_to_aot": "usmp.aot_pipeline.lower_to_aot"},
    )
