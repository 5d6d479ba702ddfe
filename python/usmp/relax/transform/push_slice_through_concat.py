"""PushSliceThroughConcat: slices of a joined tensor become slices of what was joined."""

from __future__ import annotations

from itertools import accumulate, pairwise

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, IRModule, Op, Var

from usmp.ops.emit import shape_of
from usmp.passes import ModulePass
from usmp.relax.contiguous_parts import part_offsets
from usmp.relax.replace_main import with_main_body
from usmp.relax.static_shapes import main_function
from usmp.tir.nodes import nodes_of


@tvm.transform.module_pass(opt_level=0, name="usmp.PushSliceThroughConcat")
class PushSliceThroughConcat(ModulePass):
    """Rewrite `R.strided_slice` of `R.concat` in `main` to slices of the parts.

    Where all that reads a concat slices it along the axis of the concat, the parts are there before
    they are joined: the joined tensor need not exist. A concat along the outermost axis copies
    nothing, and neither do its slices; it stays if one of them would have to join again.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main` until no such concat is left."""
        while (cut := _joins_cut(mod)) is not None:
            mod = cut
        return mod


def _joins_cut(mod: IRModule) -> IRModule | None:
    """The module without the concats that only slices read, or None if all have to stay; what was
    joined may have been a concat, which can be cut then."""
    main = main_function(mod)
    values = {b.var: b.value for block in main.body.blocks for b in block.bindings}
    joins = {v: c for v, c in values.items() if _is(c, "relax.concat")}
    cuts: dict[Call, relax.Expr] = {}
    for joined, readers in _readers(joins, [*values.values(), main.body.body]).items():
        cuts |= _cuts(joined, joins[joined], readers)
    if not cuts:
        return None
    body = tvm_ffi.structural_map(main.body, (Call, lambda call: cuts.get(call, call)))
    # What was joined has no reader.
    return relax.transform.DeadCodeElimination()(with_main_body(mod, body))


def _readers(joins: dict[Var, Call], exprs: list[relax.Expr]) -> dict[Var, list[relax.Expr]]:
    """The expressions that mention each joined tensor."""
    readers: dict[Var, list[relax.Expr]] = {joined: [] for joined in joins}
    if joins:
        for expr in exprs:
            for var in set(nodes_of(expr, Var)) & joins.keys():
                readers[var].append(expr)
    return readers


def _cuts(joined: Var, concat: Call, readers: list[relax.Expr]) -> dict[Call, relax.Expr]:
    """What to put in the place of each reader; nothing if the concat has to stay."""
    pieces = {reader: _pieces(reader, joined, concat) for reader in readers}
    most = 1 if part_offsets(concat) is not None else len(concat.args[0].ty.fields)
    if not all(0 < len(taken) <= most for taken in pieces.values()):
        return {}
    return {
        reader: taken[0] if len(taken) == 1 else relax.op.concat(taken, concat.attrs.axis)
        for reader, taken in pieces.items()
    }


def _is(value: object, name: str) -> bool:
    return isinstance(value, Call) and value.op.same_as(Op.get(name))


def _pieces(reader: relax.Expr, joined: Var, concat: Call) -> list[relax.Expr]:
    """What a slice of the concat takes of its inputs; nothing for any other reader."""
    if not _is(reader, "relax.strided_slice") or not reader.args[0].same_as(joined):
        return []
    if not all(
        isinstance(arguments, relax.Tuple) for arguments in (*concat.args, *reader.args[1:])
    ):
        return []
    whole = shape_of(concat)
    joins = (0 if concat.attrs.axis is None else int(concat.attrs.axis)) % len(whole)
    axes, begins, ends = ([int(value) for value in reader.args[i]] for i in (1, 2, 3))
    strides = [int(value) for value in reader.args[4]] if len(reader.args) > 4 else [1] * len(axes)
    axes = [axis % len(whole) for axis in axes]
    if axes.count(joins) != 1 or strides[axes.index(joins)] != 1:
        return []
    place = axes.index(joins)
    begin = begins[place] + (whole[joins] if begins[place] < 0 else 0)
    begin = min(max(begin, 0), whole[joins])
    end = begin + shape_of(reader)[joins]
    parts = list(concat.args[0].fields)
    limits = [0, *accumulate(shape_of(part)[joins] for part in parts)]
    pieces = []
    for part, (first, stop) in zip(parts, pairwise(limits), strict=True):
        if max(begin, first) >= min(end, stop):
            continue
        begins[place], ends[place] = max(begin, first) - first, min(end, stop) - first
        is_whole = len(axes) == 1 and begin <= first and stop <= end
        pieces.append(
            part if is_whole else relax.op.strided_slice(part, axes, begins, ends, strides)
        )
    return pieces
