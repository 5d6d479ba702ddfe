"""The stage that fuses groups of operators, or splits them into several PrimFuncs."""

from __future__ import annotations

from collections.abc import Iterator

from tvm.ir import IRModule

from usmp.names import COPIES, GROUPS, ORDER, SEGMENTS
from usmp.planning.search import Allowance, Choice, LastModule, Race, Stage
from usmp.relax.grouped_spans import with_grouped_spans
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import size_variables
from usmp.relax.transform.fusion.fuse_recorded_operators import (
    fuse_grouped_operators,
    grouped_operators,
)
from usmp.relax.transform.groups import groups_to_split, with_groups_split

FUSED = Choice((), "fused")
SPLIT = "split"
"""The label of choices that split groups."""


class GroupStage(Stage):
    """Fuse operators into groups (see `FuseRecordedOperators`), and choose which ones stay whole.

    Groups that read more than two large tensors, as a sum of products, are split into several
    PrimFuncs if an estimate says that fewer bytes are live then. Results are the same, to the bit.
    The fused form is taken if memory allows it, because it takes fewer instructions. The value of a
    choice lists the positions of the groups that are split.
    """

    name = GROUPS
    pass_name = "usmp.FuseRecordedOperators"
    is_in_reference = True
    allowance = Allowance.WITHIN
    rewrites_model = True
    decides = frozenset({COPIES, ORDER, SEGMENTS})

    def __init__(self) -> None:
        self._grouped = LastModule(grouped_operators)

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield all groups as they are, then some of them split."""
        yield FUSED
        # The estimate needs static shapes.
        if size_variables(main_function(mod)) or not race.options.shares_memory:
            return
        split = groups_to_split(self._grouped(mod), race.options)
        if split:
            yield Choice(split, SPLIT, (1,))

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with a PrimFunc for each group, or for each of its pieces."""
        grouped = self._grouped(mod)
        assert isinstance(choice.value, tuple)
        if choice.value:
            grouped = with_groups_split(grouped, choice.value)
        return fuse_grouped_operators(with_grouped_spans(mod, grouped))
