"""SplitIntoStrips: chains of operators in vertical strips, whose borders are computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext, Sequential

from usmp.names import SPEED, STRIPS
from usmp.objects.attributes import STRIPS_ATTR
from usmp.passes import ModulePass, apply_passes
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.session import Peaks, PlanningSession, planning_session
from usmp.planning.streaming.lower_bound import with_needs_of_forms
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import size_variables
from usmp.relax.transform.strips.choice import strip_choices
from usmp.relax.transform.strips.rewrite import with_strips
from usmp.relax.transform.strips.strip_chain import StripChain, StripMain, strip_main
from usmp.support.errors import UnsupportedModelError

_MOST_PLANS = 3
"""Of choices of strips."""


@tvm.transform.module_pass(opt_level=0, name="usmp.SplitIntoStrips")
class SplitIntoStrips(ModulePass):
    """Compute chains of integer operators in `main` in strips, a part of the columns at a time.

    Run row by row (see `usmp.transform.StreamOperators`), a strip keeps rows that are as narrow as
    it is. Columns that windows need from beside a strip are computed again;
    `tir.usmp.max_extra_macs` says how many more multiply-accumulates that may take, in percent of
    those of the model's integer operators. With 0, the default, the module stays as it is, as does
    one that went through this pass before.

    Operators of a chain are convolutions and pools of images with channels last, and element-wise
    ones. Only the result of the last one is read by others; each strip writes its columns of it.
    Each element is the same, to the bit. Some choices of chains and numbers of strips are planned,
    and the one that takes the least memory is taken, if it takes less than the module as it is. The
    attribute `strips` of the module says what was chosen from. With `tir.usmp.optimize=speed`
    there are strips only if the module does not fit as it is.

    Parameters
    ----------
    to_main
        passes from the result to `__tvm_main__` with operators that run interleaved, by which
        choices are compared; without them the first one is taken, the best by an estimate.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    ValueError
        as the passes and the planner raise it.
    """

    def __init__(self, to_main: Sequence[Pass] = ()) -> None:
        self.to_main = list(to_main)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Rewrite `main`, or return the module itself."""
        options = planning_options(context.config)
        if not options.max_extra_macs or not (options.streaming and options.shares_memory):
            return mod
        if size_variables(main_function(mod)):
            # How many columns an image has must be known.
            return mod
        if STRIPS_ATTR in (mod.attrs or {}):
            # They have taken what they may.
            return mod
        with planning_session(options.deadline()) as session:
            if self.to_main and not session.has_time(STRIPS):
                return mod
            main = strip_main(mod, options)
            choices = strip_choices(main, int(main.macs * options.max_extra_macs / 100))
            if not choices:
                return mod
            if not self.to_main:
                said = {"max_extra_macs": options.max_extra_macs, "choices": []}
                said |= _in_words(main, choices[0])
                return with_strips(main, choices[0]).with_attr(STRIPS_ATTR, said)
            to_main = Sequential(self.to_main, name="usmp.CompareStrips")
            return _best(session, main, choices[:_MOST_PLANS], to_main, options)


@dataclass(frozen=True)
class _Planned:
    """A choice of chains, and what it takes; None if it has no plan."""

    chains: Sequence[StripChain]
    mod: IRModule
    peaks: Peaks | None

    @property
    def extra_macs(self) -> int:
        """Of all chains."""
        return sum(chain.extra_macs for chain in self.chains)

    def is_better(self, other: _Planned) -> bool:
        """Whether it takes less; of two that take as much, the one that computes less is better."""
        if self.peaks is None or other.peaks is None:
            return self.peaks is not None
        return (self.peaks, self.extra_macs) < (other.peaks, other.extra_macs)


def _best(
    session: PlanningSession,
    main: StripMain,
    choices: Sequence[Sequence[StripChain]],
    to_main: Sequential,
    options: PlanningOptions,
) -> IRModule:
    """The module with the strips that take the least, or without any."""
    forms = [apply_passes(to_main, main.mod)]
    unsplit = session.peaks(forms[0], options)
    if unsplit is not None and options.optimize == SPEED:
        return main.mod
    best = _Planned((), main.mod, unsplit)
    planned = []
    for chains in choices:
        if not session.has_time(STRIPS):
            break
        # Later passes ask which strips there are.
        said = _in_words(main, chains)
        mod = with_strips(main, chains).with_attr(STRIPS_ATTR, said)
        try:
            lowered = apply_passes(to_main, mod)
            peaks = session.peaks(lowered, options)
        except (UnsupportedModelError, ValueError):
            # What has no form in strips has one as it is.
            continue
        forms.append(lowered)
        planned.append(_Planned(chains, mod, peaks))
        if planned[-1].is_better(best):
            best = planned[-1]
    said = {
        "max_extra_macs": options.max_extra_macs,
        **_said(main, best),
        **_peak_bytes("unsplit_peak_bytes", unsplit),
        "choices": [_said(main, choice) for choice in planned],
    }
    taken = best.mod.with_attr(STRIPS_ATTR, said)
    if best.peaks is None:
        return with_needs_of_forms(session, taken, forms, options)
    return taken


def _said(main: StripMain, choice: _Planned) -> dict[str, Any]:
    """What the attribute says of a choice."""
    return {**_peak_bytes("peak_bytes", choice.peaks), **_in_words(main, choice.chains)}


def _in_words(main: StripMain, chains: Sequence[StripChain]) -> dict[str, Any]:
    """Chains as the attribute has them, and what all operators take with them."""
    said = [
        {
            "operators": list(main.names[chain.start : chain.stop]),
            "strips": len(chain.strips),
            "macs_before": chain.macs - chain.extra_macs,
            "macs": chain.macs,
        }
        for chain in chains
    ]
    macs = main.macs + sum(chain.extra_macs for chain in chains)
    return {"macs_before": main.macs, "macs": macs, "chains": said}


def _peak_bytes(name: str, peaks: Peaks | None) -> dict[str, int]:
    return {} if peaks is None else {name: sum(peaks)}
