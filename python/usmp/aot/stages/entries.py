"""Stages that compare one choice for all entries with the choices of each entry alone.

All entries share one plan, so a choice that saves bytes of one entry can cost bytes in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.calls import prim_funcs
from usmp.names import COPIES, GROUPS
from usmp.objects.attributes.annotations import STATE_BYTES_ATTR
from usmp.objects.attributes.attribute import Attribute, Attributes
from usmp.objects.attributes.compared import compared_of
from usmp.objects.attributes.module_attributes import (
    CONCURRENT_ATTR,
    ENTRIES_ATTR,
    EXTENDS_STATES_ATTR,
    FIXED_CHOICES_ATTR,
)
from usmp.objects.entries import entries_of, entry_function_name
from usmp.planning.search import Choice, Race, Stage
from usmp.relax.entries import relax_entries
from usmp.relax.stages.groups import FUSED, SPLIT
from usmp.tir.nodes import nodes_of


class EntryStage(Stage):
    """A stage with one choice for all entries, which later passes read from an attribute.

    Parameters
    ----------
    own
        the choice that lets each entry choose.
    other
        the choice that fixes all entries.
    attribute, value
        the attribute that fixes all entries, and its value.
    """

    rewrites_model = True
    reads: ClassVar[Attributes] = (ENTRIES_ATTR, CONCURRENT_ATTR)
    own: Choice
    other: Choice
    attribute: Attribute[Any]
    value: Any

    def is_open(self, joined: IRModule) -> bool:
        """Return whether `other` could change an entry of the lowered module."""
        raise NotImplementedError

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield the entries' own choices, then the fixed one."""
        yield self.own
        if len(relax_entries(mod)) > 1 and self.is_open(race.lowered_first()):
            yield self.other

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with the attribute of the choice."""
        return mod if choice == self.own else self.attribute.put(mod, self.value)


class EntryGroupStage(EntryStage):
    """Fuse all groups of all entries, if this takes no more memory.

    Splitting saves bytes of one entry, but another entry may need more bytes anyway.
    """

    name = GROUPS
    pass_name = "usmp.FuseEntries"
    own = Choice("own", "as each entry alone", (1,))
    other = Choice("fused", "all fused", (0,))
    attribute = FIXED_CHOICES_ATTR
    writes = (FIXED_CHOICES_ATTR,)
    value = {GROUPS: FUSED.label}  # noqa: RUF012

    def is_open(self, joined: IRModule) -> bool:
        """Return whether an entry has split groups."""
        return any(line.stage == GROUPS and line.taken == SPLIT for line in compared_of(joined))


class EntryStateStage(EntryStage):
    """Keep concats apart from the states that they extend, if this takes less memory.

    A window that begins with a state saves bytes of one entry, but may fragment memory that another
    entry needs for large buffers.
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
