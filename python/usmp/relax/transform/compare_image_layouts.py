"""Which layout of images takes the least memory?"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir import IRModule
from tvm.ir.transform import Pass, Sequential

from usmp.names import LAYOUT
from usmp.objects.attributes import IMAGE_LAYOUT_ATTR
from usmp.passes import apply_passes
from usmp.planning.options import PlanningOptions
from usmp.planning.schedules import is_within, memory_limit
from usmp.planning.session import Peaks, PlanningSession, planning_session
from usmp.planning.streaming.lower_bound import with_needs_of_forms
from usmp.support.errors import UnsupportedModelError
from usmp.tir.spans import functions_with_spans


def preferred_layout(
    channels_first: IRModule,
    channels_last: IRModule,
    to_main: Sequence[Pass],
    options: PlanningOptions,
) -> IRModule:
    """The module with channels last if memory allows it, or else the other one.

    Parameters
    ----------
    channels_first, channels_last
        modules that compute the same.
    to_main
        passes from either to `__tvm_main__`, of which plans are made.

    Returns
    -------
    IRModule
        With the attribute `image_layout`, which says what was compared.
    """
    passes = Sequential(list(to_main), name="usmp.CompareImageLayouts")
    # As they are when the pass that compares has ended: what is lowered again then is known.
    channels_last = functions_with_spans(channels_first, channels_last)
    with planning_session(options.deadline()) as session:
        forms: list[IRModule] = []
        first = _peaks(session, passes, channels_first, options, forms)
        last = _peaks(session, passes, channels_last, options, forms)
        if first is None and last is None:
            # Later passes say why.
            return with_needs_of_forms(session, channels_first, forms, options)
    if first is None or last is None:
        # What has no plan is not smaller.
        return channels_first if last is None else channels_last
    fits = is_within(last, memory_limit(options.optimize, first))
    said = {
        "layout": "NHWC" if fits else "NCHW",
        "channels_first_peak_bytes": sum(first),
        "channels_last_peak_bytes": sum(last),
    }
    return (channels_last if fits else channels_first).with_attr(IMAGE_LAYOUT_ATTR, said)


def _peaks(
    session: PlanningSession,
    passes: Sequential,
    mod: IRModule,
    options: PlanningOptions,
    forms: list[IRModule],
) -> Peaks | None:
    """Those of a module; None if it does not fit, is refused, or no time remains. What is planned
    joins `forms`."""
    if not session.has_time(LAYOUT):
        return None
    try:
        lowered = apply_passes(passes, mod)
        peaks = session.peaks(lowered, options)
    except (UnsupportedModelError, ValueError):
        return None
    forms.append(lowered)
    return peaks
