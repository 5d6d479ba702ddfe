"""Which groups of operators may be worth splitting."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, Var

from usmp.planning.options import PlanningOptions
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.groups.live_bytes import estimated_peak
from usmp.relax.transform.groups.pieces import Piece, pieces_of
from usmp.relax.transform.groups.split import with_pieces

_MOST_TRIALS = 16
"""Groups of which each is looked at by itself."""


def with_groups_split(mod: IRModule, options: PlanningOptions) -> IRModule:
    """The module with groups split so that, by an estimate, fewer bytes are live at once; itself if
    that lets no fewer live. A group that need not be split for that stays whole.

    Parameters
    ----------
    mod
        as FuseOps makes it, of static shapes.
    options
        how it will be planned.
    """
    groups = groups_in_pieces(mod)
    if not groups:
        return mod
    split = with_pieces(mod, groups)
    least = estimated_peak(split, options)
    if least >= estimated_peak(mod, options):
        return mod
    for var in list(groups)[:_MOST_TRIALS]:
        fewer = {other: pieces for other, pieces in groups.items() if not other.same_as(var)}
        tried = with_pieces(mod, fewer)
        if estimated_peak(tried, options) <= least:
            groups, split = fewer, tried
    return split


def groups_in_pieces(mod: IRModule) -> dict[Var, list[Piece]]:
    """The groups that have several pieces, by the variable of the result in `main`."""
    found = {}
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
                        found[binding.var] = pieces
    return found
