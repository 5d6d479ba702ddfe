"""What several entries, each searched by itself, choose together.

What saves bytes of one entry may cost bytes of all: the plan is a joint one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.calls import prim_funcs
from usmp.names import COPIES, GROUPS
from usmp.objects.annotations import STATE_BYTES_ATTR
from usmp.objects.attribute import Attribute, Attributes
from usmp.objects.attributes import (
    CONCURRENT_ATTR,
    ENTRIES_ATTR,
    EXTENDS_STATES_ATTR,
    FIXED_CHOICES_ATTR,
)
from usmp.objects.compared import compared_of
from usmp.objects.entries import entries_of, entry_function_name
from usmp.planning.search import Choice, Race, Stage
from usmp.relax.entries import relax_entries
from usmp.relax.stages.groups import FUSED, SPLIT
from usmp.tir.nodes import nodes_of


class EntryStage(Stage):
    """A choice for all entries; later passes lower each entry by it.

    Parameters
    ----------
    own
        what the entries do if nothing is fixed.
    other
        what they do with the attribute.
    attribute, value
        what is fixed for all entries.
    """

    rewrites_model = True
    reads: ClassVar[Attributes] = (ENTRIES_ATTR, CONCURRENT_ATTR)
    own: Choice
    other: Choice
    attribute: Attribute[Any]
    value: Any

    def is_open(self, joined: IRModule) -> bool:
        """Return whether some entry, as it was lowered, could be lowered in another way."""
        raise NotImplementedError

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield what each entry takes, then the same for all."""
        yield self.own
        if len(relax_entries(mod)) > 1 and self.is_open(race.lowered_first()):
            yield self.other

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with the attribute that later passes read."""
        return mod if choice == self.own else self.attribute.put(mod, self.value)


class EntryGroupStage(EntryStage):
    """Fuse all operators of all entries, if that takes no more memory.

    A split saves bytes of its own entry, where another one may need more anyway.
    """

    name = GROUPS
    pass_name = "usmp.FuseEntries"
    own = Choice("own", "as each entry alone", (1,))
    other = Choice("fused", "all fused", (0,))
    attribute = FIXED_CHOICES_ATTR
    writes = (FIXED_CHOICES_ATTR,)
    value = {GROUPS: FUSED.label}  # noqa: RUF012

    def is_open(self, joined: IRModule) -> bool:
        """Return whether groups of some entry are split."""
        return any(line.stage == GROUPS and line.taken == SPLIT for line in compared_of(joined))


class EntryStateStage(EntryStage):
    """Keep concatenations apart from the states that they extend, if that takes less memory.

    What lies behind states saves bytes of its own entry, but may divide memory that another one has
    large buffers for.
    """

    name = COPIES
    pass_name = "usmp.ExtendStates"
    own = Choice("behind", "concatenations behind states", (0,))
    other = Choice("apart", "concatenations apart from states", (1,))
    attribute = EXTENDS_STATES_ATTR
    reads = (*EntryStage.reads, STATE_BYTES_ATTR)
    writes = (EXTENDS_STATES_ATTR,)
    value = False

    def is_open(self, joined: IRModule) -> bool:
        """Return whether a state is the start of a larger buffer."""
        functions = prim_funcs(joined)
        return any(
            STATE_BYTES_ATTR.is_on(stmt)
            for name in map(entry_function_name, entries_of(joined))
            for stmt in nodes_of(functions[name].body, tirx.AllocBuffer)
        )
