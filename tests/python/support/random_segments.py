"""Operators that run interleaved whether that takes less memory or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest import mock

from tvm.ir import IRModule

from usmp.objects.entries import entries_of
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.planning.search import Choice, Race
from usmp.planning.search.stages import SegmentStage
from usmp.planning.search.stages.segments import with_all_segments
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segmentation import Interval
from usmp.planning.streaming.streamed_function import streamed_function
from usmp.planning.streaming.streamed_main import StreamedMain


def possible_segments(mod: IRModule) -> list[Interval]:
    """The operators of `__tvm_main__` that can run interleaved."""
    main = streamed_main(mod)
    return [] if main is None else _possible(main)


def _possible(main: StreamedMain) -> list[Interval]:
    count = len(main.operators)
    found = []
    for start in range(count):
        for stop in range(start + 2, count + 1):
            segment = main.segment(start, stop)
            if segment is not None and streamed_function(segment) is not None:
                found.append((start, stop))
    return found


def random_segments(random: Random, mod: IRModule) -> list[Interval]:
    """Some of them, of which no two have an operator in common; long ones more often."""
    possible = possible_segments(mod)
    chosen: list[Interval] = []
    while possible:
        longest = max(stop - start for start, stop in possible)
        long = [i for i in possible if i[1] - i[0] == longest]
        start, stop = random.choice(long if random.random() < 0.5 else possible)
        chosen.append((start, stop))
        possible = [(a, b) for a, b in possible if b <= start or a >= stop]
    return chosen


class _AnySegments(SegmentStage):
    """Random segments, whatever they take."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield the only choice."""
        if entries_of(mod) != [ONLY_ENTRY]:
            yield Choice((), "none")
            return
        random = Random(self.seed)
        segments, by_columns = random_segments(random, mod), random.random() < 0.5
        yield Choice(tuple((*segment, by_columns) for segment in segments), "any")

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Replace the calls."""
        assert isinstance(choice.value, tuple)
        if not choice.value:
            return mod
        segments = [(start, stop) for start, stop, _ in choice.value]
        return with_all_segments(mod, segments, by_columns=choice.value[0][2])


@contextmanager
def any_segments(seed: int) -> Iterator[None]:
    """`usmp.build` streams random segments, whatever they take."""
    with mock.patch("usmp.aot_pipeline.SegmentStage", lambda: _AnySegments(seed)):
        yield
