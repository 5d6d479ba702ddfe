"""The stage that splits chains of operators into strips."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from tvm.ir import IRModule

from usmp.names import COPIES, ORDER, SEGMENTS, SPEED, STRIPS
from usmp.planning.options import planning_options
from usmp.planning.search import Choice, LastModule, Leaf, Race, Stage
from usmp.relax.transform.strips.described_strips import (
    choices_of_strips,
    described_chains,
    in_strips,
)
from usmp.relax.transform.strips.strip_chain import (
    StripChain,
    StripMain,
    strip_chain,
    strip_main,
)

_MOST_PLANS = 3
"""Most choices of strips to plan."""

_NONE = Choice((), "no strips", (0,))


class StripStage(Stage):
    """Choose chains of integer operators that are computed in strips (see `SplitIntoStrips`).

    The value of a choice lists (start, stop, number of strips) for each chain. Of two plans of
    equal bytes, the one with fewer multiply-accumulates is taken. With `tir.usmp.optimize=speed`
    there are strips only if the module does not fit without.
    """

    name = STRIPS
    pass_name = "usmp.SplitIntoStrips"
    rewrites_model = True
    decides = frozenset({COPIES, ORDER, SEGMENTS})

    def __init__(self) -> None:
        self._main = LastModule(lambda mod: strip_main(mod, planning_options()))

    @property
    def key(self) -> Hashable:
        """The options, which determine the chains."""
        return STRIPS, planning_options()

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield the module without strips, then up to `_MOST_PLANS` choices of strips."""
        yield _NONE
        options = race.options
        if not options.max_extra_macs or not race.has_time():
            return
        planned = choices_of_strips(mod, options)
        if planned is None or not planned[1]:
            return
        if options.optimize == SPEED and race.best.peaks is not None:
            return
        main, choices = planned
        for chains in choices[:_MOST_PLANS]:
            value = tuple((chain.start, chain.stop, len(chain.strips)) for chain in chains)
            extra = sum(chain.extra_macs for chain in chains)
            more = f"{100 * extra / main.macs:+.1f} % MACs" if main.macs else "no MACs"
            label = f"{', '.join(_words(main, chain) for chain in chains)}: {more}"
            yield Choice(value, label, (extra,))

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with the chains in strips."""
        if choice == _NONE:
            return mod
        main = self._main(mod)
        return in_strips(main, _chains(main, choice))

    def details(self, race: Race) -> dict[str, Any]:
        """Return the planned chains with their bytes, and the chains of the best plan."""
        if len(race.leaves) < 2:
            return {}
        main = self._main(race.mod)
        unsplit, *others = race.leaves
        return {
            "max_extra_macs": race.options.max_extra_macs,
            **_described(main, race.best),
            **_peak_bytes("unsplit_peak_bytes", unsplit),
            "choices": [_described(main, leaf) for leaf in others if leaf.error is None],
        }


def _described(main: StripMain, leaf: Leaf) -> dict[str, Any]:
    return {**_peak_bytes("peak_bytes", leaf), **described_chains(main, _chains(main, leaf.choice))}


def _chains(main: StripMain, choice: Choice) -> Sequence[StripChain]:
    assert isinstance(choice.value, tuple)
    chains = [strip_chain(main, start, stop, count) for start, stop, count in choice.value]
    return [chain for chain in chains if chain is not None]


def _words(main: StripMain, chain: StripChain) -> str:
    """Return the title of a chain for users."""
    names = main.names[chain.start : chain.stop]
    operators = "1 operator" if len(names) == 1 else f"{len(names)} operators"
    ends = " to ".join(dict.fromkeys((names[0], names[-1])))
    return f"{ends} ({operators}) in {len(chain.strips)}"


def _peak_bytes(name: str, leaf: Leaf) -> dict[str, int]:
    return {} if leaf.peaks is None else {name: sum(leaf.peaks)}
