"""Stages of the search that rewrite a Relax module."""

from usmp.relax.stages.groups import GroupStage
from usmp.relax.stages.layout import FloatLayoutStage, IntegerLayoutStage
from usmp.relax.stages.strips import StripStage

__all__ = ["FloatLayoutStage", "GroupStage", "IntegerLayoutStage", "StripStage"]
