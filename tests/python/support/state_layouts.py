"""Builds with state layouts, layouts with changes, and the message of one that does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

import usmp
from support.planner_contexts import planner_context
from support.state_models import streaming_model
from usmp.objects import PlacedState, StateLayout

FIELDS = (
    *("name", "shape", "dtype", "pool_name"),
    *("byte_offset", "size_bytes", "alignment", "initial_value"),
)

streaming = cache(streaming_model)


def build(mod=None, options=None, **arguments) -> usmp.AOTExecutorFactoryModule:
    with planner_context(options or {}):
        return usmp.build(mod or streaming(), **arguments)


def moved(layout: StateLayout, **places: int) -> StateLayout:
    """The layout with other offsets of some states."""
    return edited(layout, {name: {"byte_offset": offset} for name, offset in places.items()})


def edited(layout: StateLayout, fields: Mapping[str, Mapping[str, object]]) -> StateLayout:
    states = [
        PlacedState(
            **{field: getattr(state, field) for field in FIELDS} | dict(fields.get(state.name, {}))
        )
        for state in layout.states
    ]
    return StateLayout(layout.module_name, tuple(states))


def message_of(layout, **arguments) -> str:
    arguments = {"state_memory_pool": "backup", **arguments}
    with pytest.raises((ValueError, TypeError)) as error:
        build(state_layout=layout, **arguments)
    return str(error.value).split("\n\n")[0]


RESET = (
    "Leave it out and export a new one: states get new places, what old ones hold is lost, and the "
    "program has to reset the model"
)
