"""Stages of the search that build main PrimFuncs."""

from usmp.aot.stages.copies import copy_stage
from usmp.aot.stages.entries import EntryGroupStage, EntryStateStage

__all__ = ["EntryGroupStage", "EntryStateStage", "copy_stage"]
