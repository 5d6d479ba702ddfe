"""Modules that could be built from one: operators run one after the other, or interleaved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from tvm.ir import IRModule

from usmp.names import SEGMENTS, SPEED
from usmp.objects.attributes import MAIN_FUNCTION_NAME, STRIPS_ATTR
from usmp.objects.entries import ONLY_ENTRY, entries_of
from usmp.objects.streamed_io import streams_io
from usmp.planning.options import PlanningOptions
from usmp.planning.session import Peaks, PlanningSession, planning_session
from usmp.planning.streaming.io_by_rows import refuse_rows
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segmentation import Interval, Segmentation, segmentations
from usmp.planning.streaming.streamed_function import streamed_function
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.planning.streaming.with_segments import with_segments


@dataclass(frozen=True)
class StreamedModule:
    """A module in which operators run interleaved.

    Parameters
    ----------
    mod
        the module.
    live_bytes
        no plan of it takes less.
    """

    mod: IRModule
    live_bytes: int


@dataclass(frozen=True)
class StreamedModules:
    """Modules that could be built from one.

    Parameters
    ----------
    modules
        those with segments.
    bound_bytes
        see `Segmentations`.
    """

    modules: list[StreamedModule]
    bound_bytes: int | None


def streamed_modules(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> StreamedModules:
    """The module with segments that may take less memory.

    Parameters
    ----------
    mod
        is not planned yet.
    options
        whether and how to.

    Raises
    ------
    ValueError
        the module is refused, see `PlanningSession.prepared`; or something that is given or taken
        by rows would be there as a whole.
    """
    nothing = StreamedModules([], None)
    if not options.streams_operators or entries_of(mod) != [ONLY_ENTRY]:
        return nothing
    must = streams_io(mod[MAIN_FUNCTION_NAME])
    if not must and not session.has_time(SEGMENTS):
        return nothing
    if options.optimize == SPEED and not must and session.peaks(mod, options) is not None:
        return nothing
    prepared = streamed_main(
        session.prepared(mod, options),
        options.preserve_inputs,
        more_percent=_more_percent(mod, options),
    )
    main = None if prepared is None else _unprepared(session, mod, prepared)
    if prepared is None or main is None:
        if must:
            raise ValueError(
                "inputs and outputs by rows: it is not known what the statements of "
                f"{MAIN_FUNCTION_NAME} do, so that their tensors would have to exist"
            )
        return nothing
    # An input or output by rows needs segments, however long it takes to choose them.
    found = segmentations(prepared, None if must else partial(session.has_time, SEGMENTS))
    if options.optimize == SPEED:
        modules = _modules(session, main, found.fewest)
        if any(session.peaks(made.mod, options) is not None for made in modules):
            return StreamedModules(modules, found.bound_bytes)
    modules = _modules(session, main, found.choices)
    if must and not modules:
        refuse_rows(prepared)
    return StreamedModules(modules, found.bound_bytes)


def _more_percent(mod: IRModule, options: PlanningOptions) -> float:
    """Of what strips may take more, what they leave; nothing if there are no strips."""
    said = (mod.attrs or {}).get(STRIPS_ATTR, {})
    if not said.get("chains"):
        return 0.0
    before, after = (max(int(said[name]), 1) for name in ("macs_before", "macs"))
    return max(options.max_extra_macs - 100 * (after - before) / before, 0.0)


def _unprepared(
    session: PlanningSession, mod: IRModule, prepared: StreamedMain
) -> StreamedMain | None:
    """The main function of the module itself, from which segments are made: the same one wherever
    inputs and outputs are, so that what is made of it is found once, too."""
    found = session.once("streamed main", mod, lambda: streamed_main(mod, like=prepared))
    # The attributes of the module may be others.
    return None if found is None else replace(found, mod=mod)


def _modules(
    session: PlanningSession, main: StreamedMain, choices: Sequence[Segmentation]
) -> list[StreamedModule]:
    """Those that these choices give, if the segments can be made."""
    modules: list[StreamedModule] = []
    must = streams_io(main.mod[MAIN_FUNCTION_NAME])
    for choice in choices:
        if (modules or not must) and not session.has_time(SEGMENTS):
            break
        # The statements are the same; the memories are not.
        ways = {i: s.interleaving.columns > 1 for i, s in choice.segments.items()}
        made = _made(session, main, ways)
        if made is not None:
            modules.append(StreamedModule(made, choice.live_bytes))
    return modules


@dataclass(frozen=True)
class BestStreamed:
    """The module that takes the least memory.

    Parameters
    ----------
    mod
        the module; the one without segments if none of the others takes less. If no plan fits, it
        is the first choice of segments.
    unstreamed_peaks
        of the plan without segments; None if there is none.
    bound_bytes
        see `Segmentations`.
    """

    mod: IRModule
    unstreamed_peaks: Sequence[int] | None
    bound_bytes: int | None


def best_streamed(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> BestStreamed | None:
    """The best of `streamed_modules` and the module itself; None if there is nothing to choose."""
    found = streamed_modules(session, mod, options)
    if not found.modules:
        return None
    unstreamed = session.peaks(mod, options)
    # As they are, tensors that are given or taken by rows would be there as a whole.
    known = None if streams_io(mod[MAIN_FUNCTION_NAME]) else unstreamed
    index = _best(
        [candidate.live_bytes for candidate in found.modules],
        known,
        lambda index, limit: session.peaks(found.modules[index].mod, options, limit),
        partial(session.has_time, SEGMENTS),
    )
    if index is None and known is not None:
        return BestStreamed(mod, unstreamed, found.bound_bytes)
    # If none fits: what lacks for the one that takes the least is what users have to know.
    return BestStreamed(found.modules[index or 0].mod, unstreamed, found.bound_bytes)


def _best(
    live_bytes: Sequence[int],
    known: Peaks | None,
    peaks: Callable[[int, Peaks | None], Peaks | None],
    has_time: Callable[[], bool] = lambda: True,
) -> int | None:
    """The index of the first candidate with the smallest plan; None if none is below `known`.

    They are planned in the order of their bounds, for a good plan spares most of the others.

    Parameters
    ----------
    live_bytes
        by candidate, what no plan of it is below.
    peaks
        of the plan of a candidate; None if there is none, or none within the limit.
    has_time
        whether another one may be planned, beside the first.
    """
    best = None if known is None else (known, -1)
    for index in sorted(range(len(live_bytes)), key=live_bytes.__getitem__):
        limit = None if best is None else best[0]
        if best is not None and len(best[0]) == 1 and ((live_bytes[index],), index) > best:
            continue
        if best is not None and not has_time():
            break
        found = peaks(index, limit)
        if found is not None and (best is None or (found, index) < best):
            best = found, index
    return None if best is None or best[1] < 0 else best[1]


def with_all_segments(
    mod: IRModule, segments: Sequence[Interval], by_columns: bool = False
) -> IRModule:
    """The module with these segments.

    Parameters
    ----------
    segments
        the first operator of each, and the one after its last.
    by_columns
        whether they run by columns, where they have some.

    Raises
    ------
    ValueError
        one of them cannot run interleaved, or two have an operator in common.
    """
    main = streamed_main(mod)
    if main is None or not _are_apart(main, segments):
        made = None
    else:
        with planning_session() as session:
            made = _made(session, main, dict.fromkeys(segments, by_columns))
    if made is None:
        raise ValueError(f"operators {list(segments)} of __tvm_main__ cannot run interleaved")
    return made


def _are_apart(main: StreamedMain, segments: Sequence[Interval]) -> bool:
    """Whether segments are some of the operators, and no two have one in common."""
    ends = [end for segment in sorted(segments) for end in segment]
    is_sorted = all(before <= after for before, after in pairwise(ends))
    return is_sorted and (not ends or (ends[0] >= 0 and ends[-1] <= len(main.operators)))


def _made(
    session: PlanningSession, main: StreamedMain, segments: Mapping[Interval, bool]
) -> IRModule | None:
    """The module with segments, by columns where that is true."""
    made = {}
    for (start, stop), by_columns in segments.items():
        segment = main.segment(start, stop)
        if by_columns:
            segment = main.with_columns(start, stop) or segment
        if segment is None:
            return None
        # A PrimFunc whose facts are known, if a module before had the same segment.
        what = "streamed function", start, stop, by_columns
        function = session.once(what, main.mod, partial(streamed_function, segment))
        if function is None:
            return None
        made[start, stop] = segment, function
    # A module whose facts are known, too. Its attributes may be others.
    known = "streamed module", tuple(sorted(segments.items()))
    mod = session.once(known, main.mod, partial(with_segments, main, made))
    return IRModule(mod.functions, attrs=main.mod.attrs)
