"""States at the offsets of a state layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.module_states import ModuleState, flat_tensor, module_states, state_tensors
from usmp.objects import BufferInfo, BufferInfoKind, PoolAllocation
from usmp.objects.attributes.annotations import STATE_TENSOR_ATTR
from usmp.objects.attributes.module_attributes import STATE_LAYOUT_ATTR
from usmp.objects.placed_state import MARKS, PlacedState
from usmp.plain.state_place import described_state
from usmp.support.text.plain_text import shown

_SHOWN = 4
"""Most differences that an error names."""


def given_places(mod: IRModule) -> dict[str, PlacedState]:
    """Return the places of the states in a module's layout, by name; empty without a layout.

    Raises
    ------
    ValueError
        the attribute is no list of `PlacedState`.
    """
    places = STATE_LAYOUT_ATTR.of(mod) or ()
    if not isinstance(places, Sequence) or not all(isinstance(p, PlacedState) for p in places):
        raise ValueError(
            f'the attribute "{STATE_LAYOUT_ATTR}" of the module must be a list of PlacedState, '
            f"not {places}"
        )
    return {str(place.name): place for place in places}


def check_state_layout(mod: IRModule, pools: Sequence[str]) -> None:
    """Check that the states of a module are the states of its layout.

    Parameters
    ----------
    pools
        names of the pools that may hold states.

    Raises
    ------
    ValueError
        only the module or only the layout has a state, the state has another type, initial value or
        alignment there, or the layout has an unknown pool; the message names the first differences.
    """
    if not STATE_LAYOUT_ATTR.is_on(mod):
        return
    messages = list(_differences(given_places(mod), module_states(mod), pools))
    if messages:
        more = f"; and {len(messages) - _SHOWN} more differences" if len(messages) > _SHOWN else ""
        raise ValueError(
            f"the state layout does not fit the model: {'; '.join(messages[:_SHOWN])}{more}. "
            "Leave it out and export a new one: states get new places, what old ones hold is lost, "
            "and the program has to reset the model"
        )


def fits(place: PlacedState, state: tirx.AllocBuffer, alignment: int) -> bool:
    """Return whether an allocation of a state fits a place, by element type and alignment."""
    offset = int(place.byte_offset)
    return str(place.dtype) == str(state.buffer.dtype) and offset % alignment == 0


def placed_states(
    mod: IRModule,
    stmts: Mapping[BufferInfo, tirx.AllocBuffer],
    allocations: Mapping[BufferInfo, PoolAllocation],
) -> list[PlacedState]:
    """Return the placed states of a planned module, sorted by pool and offset.

    Parameters
    ----------
    mod
        the module before its allocations became offsets.
    stmts
        the allocation of each buffer.
    allocations
        pool and offset of each buffer that has a place of its own.

    Raises
    ------
    ValueError
        a state is not at the offset that the module's layout gives.
    """
    layout, tensors = given_places(mod), state_tensors(mod)
    placed: list[PlacedState] = []
    for buffer, allocation in allocations.items():
        if buffer.kind != BufferInfoKind.STATE:
            continue
        stmt = stmts[buffer]
        name = STATE_TENSOR_ATTR.required(stmt)
        tensor = tensors.get(name) or flat_tensor(stmt)
        pool, offset = str(allocation.pool_info.pool_name), int(allocation.byte_offset)
        wanted = layout.get(name)
        if wanted is not None and (pool, offset) != (str(wanted.pool_name), wanted.byte_offset):
            raise ValueError(
                f'state "{shown(name)}" is at byte {offset} of pool "{pool}", not at byte '
                f'{wanted.byte_offset} of pool "{shown(wanted.pool_name)}" as the state layout says'
            )
        placed.append(
            PlacedState(
                name=name,
                shape=[int(extent) for extent in tensor.shape],
                dtype=str(tensor.dtype),
                pool_name=pool,
                byte_offset=offset,
                size_bytes=tensor.size_bytes,
                alignment=int(buffer.alignment),
                initial_value=str(tensor.initial_value),
            )
        )
    return sorted(placed, key=lambda state: (state.pool_name, state.byte_offset, state.name))


def _differences(
    layout: Mapping[str, PlacedState], states: Mapping[str, ModuleState], pools: Sequence[str]
) -> Iterator[str]:
    for pool in dict.fromkeys(str(place.pool_name) for place in layout.values()):
        if pool not in pools:
            yield (
                f'pool "{shown(pool)}" holds states in the layout, but in the model they may be in '
                f"{', '.join(shown(name) for name in pools)}: compile it with the same pools and "
                "state pool as the one that the layout is of"
            )
    for name in sorted(layout.keys() - states.keys()):
        yield f'state "{shown(name)}" is in the layout, but not in the model'
    for name in sorted(states.keys() - layout.keys()):
        yield f'state "{shown(name)}" is in the model, but not in the layout'
    for name in sorted(layout.keys() & states.keys()):
        yield from _differences_of(f'state "{shown(name)}"', layout[name], states[name])


def _differences_of(subject: str, place: PlacedState, state: ModuleState) -> Iterator[str]:
    before, now = (described_state(s.dtype, s.shape) for s in (place, state.tensor))
    if before != now:
        yield f"{subject} is {before} in the layout, but {now} in the model"
    elif str(place.initial_value) != str(state.tensor.initial_value):
        does = "starts with another value"
        if str(state.tensor.initial_value).startswith(MARKS):
            does = "marks the first run of other states"
        yield f"{subject} {does} in the layout than in the model"
    if place.byte_offset % state.alignment:
        yield (
            f"{subject} is at byte {place.byte_offset} in the layout, but the model aligns it to "
            f"{state.alignment} bytes"
        )
