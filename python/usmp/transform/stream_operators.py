"""StreamOperators: operators run interleaved, each row as soon as what it reads is there."""

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
    """Replace operators that follow each other by one PrimFunc that makes their results row by row.

    The loops of the operators become one loop, in which each of them makes its next row as soon as
    the rows that it reads are there, and no row twice. Of a tensor that only they use, a ring
    holds the rows that are still to be read. What a row reads is what its accesses
    say (see `usmp.planning.streaming.operator_loop`): operators of any kind are streamed whose
    outermost loop writes its results one after the other.

    Which operators run interleaved is chosen such that the planned peak is least
    (`usmp.planning.streaming.segmentation`), and if none of it lowers the peak, the operators stay
    as they are, as those of a module with symbolic sizes do; with `tir.usmp.optimize=speed` they
    run interleaved wherever that fits the pools. An input or
    output that is given or taken by rows (`StreamIO`) becomes a ring in any case. The attribute
    `usmp.search` of the module says what they take then, and below what no choice can be; the
    attribute `segment` of a PrimFunc says what it stands for.

    Parameters
    ----------
    segments
        the operators to run interleaved, instead of a choice: pairs of the position of the first
        one among the statements of `__tvm_main__` that are no declarations, and of the one after
        the last.
    by_columns
        whether these make column after column of their rows, too, where their loops have some.

    Raises
    ------
    ValueError
        a module that is planned already or has no `__tvm_main__`, or one that the planner
        refuses; options that it refuses; segments that cannot run interleaved; an input or
        output by rows of which more than half would have to be there.
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
        options = planning_options(context.config)
        if self.segments is not None:
            return with_all_segments(mod, self.segments, self.by_columns)
        with planning_session(options.deadline()) as session:
            return Search(session, options, [SegmentStage()]).best(mod).mod
