"""The choice of fused groups to split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, Var

from usmp.planning.options import PlanningOptions
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.groups.live_bytes import estimated_peak
from usmp.relax.transform.groups.pieces import Piece, pieces_of
from usmp.relax.transform.groups.split import with_pieces

_MOST_TRIALS = 16
"""Most groups for which `groups_to_split` estimates the peak with the group left whole."""


Groups: TypeAlias = dict[Var, list[Piece]]
"""Variable of a group's result in `main` -> the pieces of the group."""


def groups_to_split(mod: IRModule, options: PlanningOptions) -> tuple[int, ...]:
    """Return the positions, in `groups_in_pieces`, of the groups to split for a low estimated peak.

    There are none if the peak is no lower with all groups split. Of the first `_MOST_TRIALS`
    groups, those stay whole whose split is not needed for the lower peak.

    Parameters
    ----------
    mod
        a module after FuseOps, with static shapes.
    options
        planning options of the build.
    """
    groups = all_groups = groups_in_pieces(mod)
    if not groups:
        return ()
    split = with_pieces(mod, groups)
    least = estimated_peak(split, options)
    if least >= estimated_peak(mod, options):
        return ()
    for var in list(groups)[:_MOST_TRIALS]:
        fewer = {other: pieces for other, pieces in groups.items() if not other.same_as(var)}
        tried = with_pieces(mod, fewer)
        if estimated_peak(tried, options) <= least:
            groups, split = fewer, tried
    return tuple(position for position, var in enumerate(all_groups) if var in groups)


def with_groups_split(mod: IRModule, positions: Sequence[int]) -> IRModule:
    """Return the module with some groups split.

    Parameters
    ----------
    mod
        a module after FuseOps.
    positions
        positions of the groups to split in the result of `groups_in_pieces`.
    """
    groups = list(groups_in_pieces(mod).items())
    return with_pieces(mod, dict(groups[position] for position in positions))


def groups_in_pieces(mod: IRModule) -> Groups:
    """Return the groups that consist of several pieces."""
    groups: Groups = {}
    for block in main_function(mod).body.blocks:
        for binding in block.bindings:
            call = binding.value
            if isinstance(call, Call) and isinstance(call.op, GlobalVar):
                group = mod[call.op]
                if isinstance(group, relax.Function) and "Primitive" in (group.attrs or {}):
                    pairs = zip(group.params, call.args, strict=True)
                    constants = {param for param, arg in pairs if not isinstance(arg, Var)}
                    pieces = pieces_of(mod, group, constants)
                    if len(pieces) > 1:
                        groups[binding.var] = pieces
    return groups
