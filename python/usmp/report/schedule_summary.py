"""What the summary says of the tiles that operators are computed in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from usmp.names import OPTIMIZE
from usmp.support.plain_text import shown


def schedule_sentence(metadata: Mapping[str, Any]) -> str | None:
    """The tiles by how often they are taken, and what other values of `tir.usmp.optimize` would
    take; None if there was no choice.

    Parameters
    ----------
    metadata
        of one module of an archive.
    """
    choices = metadata.get("schedule_choices")
    if choices is None:
        return None
    taken = Counter(
        shown(schedule["tile"])
        for operator in metadata.get("operators", ())
        for schedule in operator.get("schedules", ())
    )
    tiles = ", ".join(f"{tile} ({count})" for tile, count in taken.most_common())
    goal = choices["optimize"]
    sentence = f"Tiles of operators, by tir.usmp.optimize={shown(goal)}: {tiles}"
    return f"{'; '.join([sentence, *_others(choices, goal)])}."


def _others(choices: Mapping[str, Any], goal: str) -> Iterator[str]:
    """What other goals would take, those that take the same together."""
    own = choices[goal]
    by_costs: dict[tuple[int, int], list[str]] = {}
    for other in OPTIMIZE:
        if other in choices and choices[other] != own:
            its = choices[other]
            by_costs.setdefault((its["peak_bytes"], its["instructions"]), []).append(other)
    for (peak, instructions), goals in by_costs.items():
        saved = -_percent(own["instructions"], instructions)
        word = "fewer" if saved > 0 else "more"
        yield (
            f"{' or '.join(goals)} would take {peak} bytes of workspace "
            f"({_percent(own['peak_bytes'], peak):+.1f} %) and about {abs(saved):.0f} % {word} "
            "instructions in them"
        )


def _percent(own: int, its: int) -> float:
    """How much more it is."""
    return 100 * (its / own - 1) if own else 0.0
