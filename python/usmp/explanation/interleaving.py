"""Why no operators of a model run interleaved, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.analysis.memory.calls import prim_funcs
from usmp.explanation.plan_facts import Planned
from usmp.names import SPEED
from usmp.objects.attributes.operator_attributes import SEGMENT_ATTR
from usmp.objects.entries import entries_of
from usmp.objects.symbolic_size import has_symbolic_sizes
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.planning.options import PlanningOptions
from usmp.planning.search.stages import SegmentStage
from usmp.planning.session import PlanningSession
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segmentation import segmentations
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.report.explanation.operators import joined

_MOST_REASONS = 3
"""Most reasons that the sentence names."""


def why_not_interleaved(
    session: PlanningSession, planned: Planned, metadata: Mapping[str, Any]
) -> str | None:
    """Return a sentence about why no operators run interleaved; None if some do.

    Parameters
    ----------
    session
        session in which the module was planned.
    planned
        the planner's input and options.
    metadata
        metadata of the planned module.
    """
    mod, options = planned.mod, planned.options
    assert mod is not None
    if any(SEGMENT_ATTR.is_on(func) for func in prim_funcs(mod).values()):
        return None
    reason = _not_allowed(mod, options)
    if reason is None:
        prepared = session.prepared(mod, options)
        main = streamed_main(prepared, options.preserve_inputs)
        peak_bytes = metadata["memory"]["ram"]["workspace_size_bytes"]
        reason = (
            "it is not known what the statements of the model do"
            if main is None
            else _not_possible(main) or _no_gain(main, peak_bytes)
        )
    return f"Nothing runs interleaved, row by row: {reason}."


def _not_allowed(mod: IRModule, options: PlanningOptions) -> str | None:
    """Return the option or the property of the model that rules interleaving out."""
    if not options.shares_memory:
        return f"by the algorithm {options.algorithm_name} buffers share no memory"
    is_off = SegmentStage.pass_name in PassContext.current().disabled_pass
    if is_off or not options.streams_operators:
        return "an option turns it off"
    if entries_of(mod) != [ONLY_ENTRY]:
        return "the model has several entries"
    if has_symbolic_sizes(mod):
        return "sizes are known at run time only, and rings need a fixed number of rows"
    if options.optimize == SPEED:
        return "tir.usmp.optimize=speed, and the model fits without"
    return None


def _not_possible(main: StreamedMain) -> str | None:
    """Return why no two operators in a row can be interleaved; None if some can."""
    count = len(main.operators)
    if count < 2:
        return "the model has one operator"
    reasons: list[str] = []
    for start in range(count - 1):
        segment = main.segment(start, start + 2)
        if segment is not None and segment.interleaving.rings:
            return None
        reasons += _why_apart(main, start)
    known = list(dict.fromkeys(reasons))
    more = len(known) - _MOST_REASONS
    shown = [*known[:_MOST_REASONS], *([f"{more} more alike"] if more > 0 else [])]
    return joined(shown) if shown else "no two operators in a row share a tensor with rows"


def _why_apart(main: StreamedMain, start: int) -> Iterator[str]:
    """Yield why an operator and the next one cannot run interleaved."""
    first, second = (_name(main, at) for at in (start, start + 1))
    without = [at for at in (start, start + 1) if main.operators[at].loop is None]
    yield from (f"{_name(main, at)} has no loop over rows" for at in without)
    if without:
        return
    reads = [r for r in main.readings[start + 1] if r.maker.operator == start]
    if any(read.needs_all_first for read in reads):
        yield f"{second} needs all rows of {first} for its first result"
    elif not reads:
        yield f"{second} reads no rows that {first} writes one after the other"


def _no_gain(main: StreamedMain, peak_bytes: int) -> str:
    """Return that operators could run interleaved, and what the best choice would need."""
    bound = segmentations(main).bound_bytes
    if bound is None:
        return "the choices that were tried need as much"
    return (
        f"operators could, but with any choice of them at least {bound} bytes are live at one "
        f"time, and one after the other needs {peak_bytes}"
    )


def _name(main: StreamedMain, index: int) -> str:
    return str(main.operators[index].statement.callee or "a copy")
