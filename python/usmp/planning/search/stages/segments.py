"""Segments: operators that run interleaved, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from tvm.ir import IRModule

from usmp.names import SEGMENTS, SPEED
from usmp.objects.attributes.annotations import ALIGNMENT_ATTR
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME, STRIPS_ATTR
from usmp.objects.attributes.operator_attributes import (
    OPERATOR_SHAPES_ATTR,
    OPERATOR_STEPS_ATTR,
    OPERATORS_ATTR,
    SEGMENT_ATTR,
)
from usmp.objects.entries import entries_of
from usmp.objects.schedule import SCHEDULE_ATTR
from usmp.objects.streamed_io import streams_io
from usmp.objects.symbolic_size import has_symbolic_sizes
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.planning.options import PlanningOptions
from usmp.planning.search.choice import Choice
from usmp.planning.search.race import Race
from usmp.planning.search.stage import Stage
from usmp.planning.session import PlanningSession, planning_session
from usmp.planning.streaming.io_by_rows import refuse_rows
from usmp.planning.streaming.lower_bound import least_need
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segmentation import Interval, Segmentation, segmentations
from usmp.planning.streaming.streamed_function import streamed_function
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.planning.streaming.with_segments import with_segments

_NONE = Choice((), "one operator after the other", (-1,))


class SegmentStage(Stage):
    """The choice of the operators that run interleaved.

    The value has the first operator of each segment, the one after its last, and whether it runs by
    columns. A streamed input or output needs a segment.
    """

    name = SEGMENTS
    pass_name = "usmp.StreamOperators"
    reads = (STRIPS_ATTR, OPERATORS_ATTR, OPERATOR_STEPS_ATTR, OPERATOR_SHAPES_ATTR, SCHEDULE_ATTR)
    writes = (
        *(ALIGNMENT_ATTR, OPERATORS_ATTR, OPERATOR_STEPS_ATTR, OPERATOR_SHAPES_ATTR, SEGMENT_ATTR),
        SCHEDULE_ATTR,
    )

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield the module without segments, unless streamed inputs or outputs need one, then
        choices of segments, the smallest bound first."""
        options, session = race.options, race.session
        must = entries_of(mod) == [ONLY_ENTRY] and streams_io(mod[MAIN_FUNCTION_NAME])
        may = options.streams_operators and entries_of(mod) == [ONLY_ENTRY]
        # Rings need a known number of rows.
        may = may and not has_symbolic_sizes(mod) and least_need(session, mod, options) is None
        if not (must and may):
            yield _NONE
        if not may or not (must or race.has_time()):
            return
        is_fast = options.optimize == SPEED
        if is_fast and not must and race.best.peaks is not None:
            return
        prepared = _prepared_main(session, mod, options)
        main = None if prepared is None else _unprepared(session, mod, prepared)
        if prepared is None or main is None:
            if must:
                raise ValueError(
                    "inputs and outputs by rows: it is not known what the statements of "
                    f"{MAIN_FUNCTION_NAME} do, so that their tensors would have to exist"
                )
            return
        # Streamed inputs and outputs need segments, so ignore the deadline.
        candidates = segmentations(prepared, None if must else partial(session.has_time, SEGMENTS))
        race.facts["bound_bytes"] = candidates.bound_bytes
        if is_fast:
            yield from _choices(session, main, candidates.fewest)
            if race.taken != _NONE and race.taken is not None and race.best.peaks is not None:
                return
        for choice in _choices(session, main, candidates.choices):
            if choice.value not in {leaf.choice.value for leaf in race.leaves}:
                yield choice
        if must and race.taken is None:
            refuse_rows(prepared)

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with the segments."""
        if choice == _NONE:
            return mod
        assert isinstance(choice.value, tuple)
        with planning_session() as session:
            main = session.once("streamed main", mod, lambda: streamed_main(mod))
            assert main is not None
            segments = {(start, stop): columns for start, stop, columns in choice.value}
            streamed = _made(session, replace(main, mod=mod), segments)
        assert streamed is not None
        return streamed

    def details(self, race: Race) -> dict[str, Any]:
        """Return the peak without segments, and a lower bound of the peaks with segments."""
        if all(choice == _NONE for choice in (race.taken, *(leaf.choice for leaf in race.leaves))):
            return {}
        # Plan without segments, even if that is no choice.
        peaks = race.session.peaks(race.mod, race.options)
        known = {} if peaks is None else {"unstreamed_peak_bytes": sum(peaks)}
        if race.facts.get("bound_bytes") is not None:
            known["least_live_bytes"] = race.facts["bound_bytes"]
        return known


def _prepared_main(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> StreamedMain | None:
    percent = _more_percent(mod, options)
    return streamed_main(
        session.prepared(mod, options), options.preserve_inputs, more_percent=percent
    )


def _more_percent(mod: IRModule, options: PlanningOptions) -> float:
    """Return the percentage of `max_extra_macs` that strips leave unused; 0 without strips."""
    strips = STRIPS_ATTR.of(mod) or {}
    if not strips.get("chains"):
        return 0.0
    before, after = (max(int(strips[name]), 1) for name in ("macs_before", "macs"))
    return max(options.max_extra_macs - 100 * (after - before) / before, 0.0)


def _unprepared(
    session: PlanningSession, mod: IRModule, prepared: StreamedMain
) -> StreamedMain | None:
    """Return the main function of the unprepared module, from which segments are made.

    This module does not depend on where inputs and outputs lie, so builds share its segments.
    """
    main = session.once("streamed main", mod, lambda: streamed_main(mod, like=prepared))
    # Take the attributes of this module, because those of the cached one may differ.
    return None if main is None else replace(main, mod=mod)


def _choices(
    session: PlanningSession, main: StreamedMain, choices: Sequence[Segmentation]
) -> Iterator[Choice]:
    """Yield the choices whose segments can be made, the smallest bound first."""
    by_bound = sorted(range(len(choices)), key=lambda index: choices[index].live_bytes)
    for index in by_bound:
        segments = choices[index].segments
        # Make segments again from their intervals, because the module may have other memories.
        ways = {i: s.interleaving.columns > 1 for i, s in segments.items()}
        if _made(session, main, ways) is not None:
            value = tuple((*interval, by_columns) for interval, by_columns in sorted(ways.items()))
            label = ", ".join(_words(main, *segment) for segment in value)
            yield Choice(value, label, (index,), choices[index].live_bytes)


def _words(main: StreamedMain, start: int, stop: int, by_columns: bool) -> str:
    """Return the text of a segment for users."""
    first, last = (main.operators[at].statement.callee or "copy" for at in (start, stop - 1))
    return f"{first} to {last} ({stop - start}, by {'columns' if by_columns else 'rows'})"


def with_all_segments(
    mod: IRModule, segments: Sequence[Interval], by_columns: bool = False
) -> IRModule:
    """Return the module with these segments.

    Parameters
    ----------
    segments
        intervals: the first operator of each segment, and the one after its last.
    by_columns
        whether segments with columns run by columns.

    Raises
    ------
    ValueError
        a segment cannot run interleaved, or two have an operator in common.
    """
    main = streamed_main(mod)
    if main is None or not _are_apart(main, segments):
        streamed = None
    else:
        with planning_session() as session:
            streamed = _made(session, main, dict.fromkeys(segments, by_columns))
    if streamed is None:
        raise ValueError(f"operators {list(segments)} of __tvm_main__ cannot run interleaved")
    return streamed


def _are_apart(main: StreamedMain, segments: Sequence[Interval]) -> bool:
    """Return whether segments are within the main function and have no common operator."""
    ends = [end for segment in sorted(segments) for end in segment]
    is_sorted = all(before <= after for before, after in pairwise(ends))
    return is_sorted and (not ends or (ends[0] >= 0 and ends[-1] <= len(main.operators)))


def _made(
    session: PlanningSession, main: StreamedMain, segments: Mapping[Interval, bool]
) -> IRModule | None:
    """Return the module with segments, by columns where the value is true and columns are possible;
    None if a segment cannot run interleaved."""
    functions = {}
    for (start, stop), by_columns in segments.items():
        segment = main.segment(start, stop)
        if by_columns:
            segment = main.with_columns(start, stop) or segment
        if segment is None:
            return None
        # Reuse the PrimFunc of an equal segment, because its facts are known.
        key = "streamed function", start, stop, by_columns
        function = session.once(key, main.mod, partial(streamed_function, segment))
        if function is None:
            return None
        functions[start, stop] = segment, function
    # Reuse the module, too, but with the attributes of this one.
    known = "streamed module", tuple(sorted(segments.items()))
    mod = session.once(known, main.mod, partial(with_segments, main, functions))
    return IRModule(mod.functions, attrs=main.mod.attrs)
