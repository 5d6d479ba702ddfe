"""What operators were measured to take, beside what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class MeasuredOperator(Protocol):
    """An operator of a `usmp.runtime.Profile`."""

    @property
    def index(self) -> int:
        """Its position in the operators of the module."""

    @property
    def cost(self) -> float:
        """What it takes of a run, in the unit of the profile."""


class Measurement(Protocol):
    """What a `usmp.runtime.Profile` has."""

    @property
    def unit(self) -> str:
        """Of costs: "ns", "instructions" or "cycles"."""

    @property
    def runs(self) -> int:
        """How many runs were measured; costs are medians of them."""

    @property
    def operators(self) -> Sequence[MeasuredOperator]:
        """Those of the entry that ran."""


def with_measured_costs(metadata: Mapping[str, Any], profile: Measurement) -> dict[str, Any]:
    """The metadata of a module, whose operators also have what they were measured to take."""
    operators = [dict(operator) for operator in metadata["operators"]]
    for measured in profile.operators:
        operators[measured.index]["measured"] = {
            "cost": measured.cost,
            "unit": profile.unit,
            "runs": profile.runs,
        }
    return {**metadata, "operators": operators}
