"""The iterations of a loop nest in which conditions may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from usmp.analysis.memory.indices.index_values import Truth
from usmp.analysis.memory.walk.events import Condition


@dataclass(frozen=True)
class ConditionTruth:
    """The iterations of a loop nest in which several conditions may all hold.

    Parameters
    ----------
    conditions
        the conditions, kept alive so that no other objects get their identities.
    axes
        the loops on which the result depends.
    happens
        whether the conditions may hold, by iteration of the nest; None means always.
    by_axis
        a factor for each loop, with `happens` as their product; None if there are no such factors.
    """

    conditions: Sequence[Condition] = ()
    axes: frozenset[int] = frozenset()
    happens: Truth | None = None
    by_axis: dict[int, Truth] | None = field(default_factory=dict)

    @classmethod
    def of(
        cls, conditions: Sequence[Condition], axes: frozenset[int], happens: Truth | None
    ) -> ConditionTruth:
        """Factor the truth of conditions into one truth per loop, if that is possible."""
        if happens is None or happens.all():
            return cls(conditions)
        # A condition of unknown truth leaves extent 1 along the axes of its variables.
        axes = frozenset(axis for axis in axes if happens.shape[axis] > 1)
        others = {a: tuple(i for i in range(happens.ndim) if i != a) for a in axes}
        by_axis = {axis: np.asarray(happens.any(axis=other)) for axis, other in others.items()}
        together = np.ones((1,) * happens.ndim, np.bool_)
        for axis, truth in by_axis.items():
            shape = [1] * happens.ndim
            shape[axis] = -1
            together = np.asarray(together & truth.reshape(shape))
        is_product = np.array_equal(together, happens)
        return cls(conditions, axes, happens, by_axis if is_product else None)

    def inside(self, more: int) -> ConditionTruth:
        """Return the truth inside of `more` further inner loops, which do not change it."""
        if self.happens is None:
            return self
        *shape, lanes = self.happens.shape
        return replace(self, happens=self.happens.reshape([*shape, *[1] * more, lanes]))
