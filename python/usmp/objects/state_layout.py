"""State layouts as attributes of modules."""

from __future__ import annotations

from dataclasses import fields

from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import STATE_LAYOUT_ATTR
from usmp.objects.placed_state import PlacedState
from usmp.plain.state_layout import StateLayout
from usmp.plain.state_place import StatePlace


def state_layout_of(mod: IRModule, module_name: str) -> StateLayout | None:
    """Return the state layout of a planned module; None if it has no state."""
    states = STATE_LAYOUT_ATTR.of(mod)
    return StateLayout(module_name, tuple(states)) if states else None


def placed_states_of(layout: StateLayout) -> list[PlacedState]:
    """Return the states of a layout as values for an attribute of a module."""
    names = [field.name for field in fields(StatePlace)]
    return [PlacedState(*(getattr(state, name) for name in names)) for state in layout.states]
