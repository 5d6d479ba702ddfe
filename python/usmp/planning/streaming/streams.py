"""Modules that could be built from one: operators run one after the other, or interleaved."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tvm.ir import IRModule

from usmp.objects.entries import ONLY_ENTRY, entries_of
from usmp.planning.options import PlanningOptions
from usmp.planning.session import PlanningSession
from usmp.planning.streaming.segmentation import Interval, least_segmentation
from usmp.planning.streaming.streamed_function import streamed_function
from usmp.planning.streaming.streamed_main import StreamedMain, streamed_main
from usmp.planning.streaming.with_segments import with_segments


def streamed_modules(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> list[IRModule]:
    """The module, and if segments may take less memory, the same with these.

    Parameters
    ----------
    mod
        is not planned yet.
    options
        whether and how to.

    Raises
    ------
    ValueError
        the module is refused, see `PlanningSession.prepared`.
    """
    if not (options.streaming and options.shares_memory) or entries_of(mod) != [ONLY_ENTRY]:
        return [mod]
    prepared = streamed_main(session.prepared(mod, options), options.preserve_inputs)
    main = streamed_main(mod)
    if prepared is None or main is None:
        return [mod]
    segments = least_segmentation(prepared).segments
    made = _made(main, segments) if segments else None
    return [mod] if made is None else [mod, made]


def with_all_segments(mod: IRModule, segments: Sequence[Interval]) -> IRModule:
    """The module with these segments.

    Raises
    ------
    ValueError
        one of them cannot run interleaved, or two have an operator in common.
    """
    main = streamed_main(mod)
    made = _made(main, segments) if main is not None and _are_apart(main, segments) else None
    if made is None:
        raise ValueError(f"operators {list(segments)} of __tvm_main__ cannot run interleaved")
    return made


def _are_apart(main: StreamedMain, segments: Sequence[Interval]) -> bool:
    """Whether segments are some of the operators, and no two have one in common."""
    ends = [end for segment in sorted(segments) for end in segment]
    is_sorted = all(before <= after for before, after in pairwise(ends))
    return is_sorted and (not ends or (ends[0] >= 0 and ends[-1] <= len(main.operators)))


def _made(main: StreamedMain, segments: Sequence[Interval]) -> IRModule | None:
    made = {}
    for start, stop in segments:
        segment = main.segment(start, stop)
        function = None if segment is None else streamed_function(segment)
        if segment is None or function is None:
            return None
        made[start, stop] = segment, function
    return with_segments(main, made)
