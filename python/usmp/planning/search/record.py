"""The choices that a race compared, as a line of the search record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usmp.objects.attributes.compared import Alternative, Compared
from usmp.planning.search.leaf import Leaf
from usmp.planning.session import Peaks

if TYPE_CHECKING:
    from usmp.planning.search.race import Race


def compared_leaves(race: Race, details: Mapping[str, Any]) -> Compared | None:
    """Return the choice and the alternatives of a race; None without a choice, or for
    one choice without details.

    Parameters
    ----------
    details
        see `Compared.details`.
    """
    choice = race.taken
    if choice is None or not (len(race.leaves) > 1 or details):
        return None
    best = race.best if race.leaves else None
    peaks = None if best is None else best.peaks
    others = tuple(_alternative(leaf, peaks) for leaf in race.leaves if leaf is not best)
    return Compared(race.stage.name, choice.label, total(peaks), others, details=details)


def total(peaks: Peaks | None) -> int | None:
    """Return the bytes of all workspace pools; None without a plan."""
    return None if peaks is None else sum(peaks)


def _alternative(leaf: Leaf, best: Peaks | None) -> Alternative:
    if leaf.error is not None:
        reason = (str(leaf.error).splitlines() or [""])[0]
        return Alternative(leaf.choice.label, f"refused: {reason}")
    if leaf.peaks is None:
        bound = total(leaf.low) or leaf.choice.bound_bytes
        is_proved = best is not None and bound > 0
        why = "bound" if is_proved else "no plan"
        return Alternative(leaf.choice.label, why, bound_bytes=bound if is_proved else None)
    why = "no plan"
    if best is not None:
        why = "larger" if leaf.peaks > best else "equal" if leaf.peaks == best else "slower"
    return Alternative(leaf.choice.label, why, total(leaf.peaks))
