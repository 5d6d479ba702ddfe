"""StreamOperators: run operators interleaved, each row as soon as its inputs are computed."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.passes import ModulePass
from usmp.planning.attribute_access import SEARCHING
from usmp.planning.check_unplanned import check_unplanned
from usmp.planning.options import planning_options
from usmp.planning.search import Search
from usmp.planning.search.stages import SegmentStage
from usmp.planning.search.stages.segments import with_all_segments
from usmp.planning.session import planning_session


@tvm.transform.module_pass(opt_level=0, name="usmp.StreamOperators")
class StreamOperators(ModulePass):
    """Replace consecutive operators by one PrimFunc that computes their results row by row.

    The loops of the operators become one loop, in which each operator computes its next row as soon
    as the rows that it reads exist, and no row twice. If only these operators use a tensor, a ring
    buffer holds its rows that are still to be read. Accesses show the rows that each row reads (see
    `usmp.planning.streaming.operator_loop`), so any operator can be streamed whose outermost loop
    writes its results one after the other.

    The choice of operators minimizes the planned peak (`usmp.planning.streaming.segmentation`). If
    no choice lowers the peak, or if the module has symbolic sizes, the operators stay as they are.
    With `tir.usmp.optimize=speed` they run interleaved only if nothing else fits the pools. A
    streamed input or output (`StreamIO`) becomes a ring in any case. The attribute `usmp.search` of
    the module has the bytes of the choice, and a lower bound of all choices; the attribute
    `segment` of a PrimFunc describes its operators.

    Parameters
    ----------
    segments
        the operators to run interleaved, instead of a choice: pairs of the position of the first
        operator among the statements of `__tvm_main__` without declarations, and of the one after
        the last.
    by_columns
        whether the loops of these operators also run column by column, if they have columns.

    Raises
    ------
    ValueError
        the module has a plan already or no `__tvm_main__`; the planner refuses the module or the
        options; segments cannot run interleaved; more than half of a streamed input or output would
        have to be kept.
    """

    reads, writes, uses = SegmentStage.reads, SegmentStage.writes, (SEARCHING,)

    def __init__(
        self, segments: Sequence[tuple[int, int]] | None = None, by_columns: bool = False
    ) -> None:
        self.segments = segments
        self.by_columns = by_columns

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Replace the calls, or return the module itself."""
        check_unplanned(mod)
        options = planning_options(context)
        if self.segments is not None:
            return with_all_segments(mod, self.segments, self.by_columns)
        with planning_session(options.deadline()) as session:
            return Search(session, options, [SegmentStage()]).best(mod).mod
