"""Add measured costs of operators to the metadata of a module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class MeasuredOperator(Protocol):
    """An operator of a `usmp.runtime.Profile`."""

    @property
    def index(self) -> int:
        """The index among the operators of the module."""

    @property
    def cost(self) -> float:
        """The cost in a run, in the unit of the profile."""


class Measurement(Protocol):
    """The interface of a `usmp.runtime.Profile`."""

    @property
    def unit(self) -> str:
        """The unit of costs: "ns", "instructions" or "cycles"."""

    @property
    def runs(self) -> int:
        """The number of measured runs. Costs are medians over these runs."""

    @property
    def operators(self) -> Sequence[MeasuredOperator]:
        """The operators of the entry that ran."""


def with_measured_costs(metadata: Mapping[str, Any], profile: Measurement) -> dict[str, Any]:
    """Return the metadata of a module, with the measured costs of its operators."""
    operators = [dict(operator) for operator in metadata["operators"]]
    for measured in profile.operators:
        operators[measured.index]["measured"] = {
            "cost": measured.cost,
            "unit": profile.unit,
            "runs": profile.runs,
        }
    return {**metadata, "operators": operators}
