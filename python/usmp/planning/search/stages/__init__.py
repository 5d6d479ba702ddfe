"""Stages of the search that rewrite a module of PrimFuncs."""

from usmp.planning.search.stages.copies import Copies, CopyStage
from usmp.planning.search.stages.order import OrderStage
from usmp.planning.search.stages.segments import SegmentStage
from usmp.planning.search.stages.tiles import TileStage

__all__ = ["Copies", "CopyStage", "OrderStage", "SegmentStage", "TileStage"]
