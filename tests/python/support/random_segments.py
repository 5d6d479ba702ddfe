"""Operators that run interleaved whether that takes less memory or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp.aot_pipeline
from usmp.objects.entries import ONLY_ENTRY, entries_of
from usmp.passes import ModulePass
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segmentation import Interval
from usmp.planning.streaming.streamed_function import streamed_function
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.planning.streaming.streams import with_all_segments


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


@tvm.transform.module_pass(opt_level=0, name="usmp.StreamOperators")
class _StreamAny(ModulePass):
    """Random segments, whatever they take."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Replace the calls."""
        if entries_of(mod) != [ONLY_ENTRY]:
            return mod
        random = Random(self.seed)
        segments, by_columns = random_segments(random, mod), random.random() < 0.5
        return with_all_segments(mod, segments, by_columns) if segments else mod


@contextmanager
def any_segments(seed: int) -> Iterator[None]:
    """`usmp.build` streams random segments, whatever they take."""
    before = usmp.aot_pipeline.StreamOperators
    usmp.aot_pipeline.StreamOperators = lambda: _StreamAny(seed)
    try:
        yield
    finally:
        usmp.aot_pipeline.StreamOperators = before
