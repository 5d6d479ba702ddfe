"""PushSliceThroughConcat: slices of a concat become slices of its inputs."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, IRModule, Var

from usmp.ops.views import AxisRange, axis_of, part_offsets, parts_of, whole_or_slice
from usmp.passes import ModulePass
from usmp.relax.replace_main import with_main_body
from usmp.relax.static_shapes import main_function
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name


@tvm.transform.module_pass(opt_level=0, name="usmp.PushSliceThroughConcat")
class PushSliceThroughConcat(ModulePass):
    """Rewrite `R.strided_slice` of `R.concat` in `main` to slices of the inputs.

    If all readers of a concat slice it along its axis, the concat need not be materialized. A
    concat along the outermost axis, and its slices, copy nothing; it stays if a slice spans several
    inputs.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main` until no such concat remains."""
        while (cut := _joins_cut(mod)) is not None:
            mod = cut
        return mod


def _joins_cut(mod: IRModule) -> IRModule | None:
    """Return the module without concats that only slices read, or None if all have to stay. An
    input of a removed concat may be a concat that can be removed next."""
    main = main_function(mod)
    values = {b.var: b.value for block in main.body.blocks for b in block.bindings}
    joins = {v: c for v, c in values.items() if op_name(c) == "relax.concat"}
    cuts: dict[Call, relax.Expr] = {}
    for joined, readers in _readers(joins, [*values.values(), main.body.body]).items():
        cuts |= _cuts(joined, joins[joined], readers)
    if not cuts:
        return None
    body = tvm_ffi.structural_map(main.body, (Call, lambda call: cuts.get(call, call)))
    # Removed concats have no readers any more.
    return relax.transform.DeadCodeElimination()(with_main_body(mod, body))


def _readers(joins: dict[Var, Call], exprs: list[relax.Expr]) -> dict[Var, list[relax.Expr]]:
    """Return the expressions that mention each concat."""
    readers: dict[Var, list[relax.Expr]] = {joined: [] for joined in joins}
    if joins:
        for expr in exprs:
            for var in set(nodes_of(expr, Var)) & joins.keys():
                readers[var].append(expr)
    return readers


def _cuts(joined: Var, concat: Call, readers: list[relax.Expr]) -> dict[Call, relax.Expr]:
    """Return a replacement for each reader, or {} if the concat has to stay."""
    pieces = {reader: _pieces(reader, joined, concat) for reader in readers}
    most = 1 if part_offsets(concat) is not None else len(concat.args[0].ty.fields)
    if not all(0 < len(parts) <= most for parts in pieces.values()):
        return {}
    return {
        reader: parts[0] if len(parts) == 1 else relax.op.concat(parts, concat.attrs.axis)
        for reader, parts in pieces.items()
    }


def _pieces(reader: relax.Expr, joined: Var, concat: Call) -> list[relax.Expr]:
    """Return the slices of inputs that make up a slice of the concat, or [] for any other
    reader."""
    if op_name(reader) != "relax.strided_slice" or not reader.args[0].same_as(joined):
        return []
    cuts, joined_parts = parts_of(reader), parts_of(concat)
    if cuts is None or joined_parts is None or not isinstance(concat.args[0], relax.Tuple):
        return []
    axis = axis_of(concat)
    cut = cuts[0].get(axis)
    if cut is None or cut.step != 1:
        return []
    pieces = []
    for tensor, part in zip(concat.args[0].fields, joined_parts, strict=True):
        place = part[axis]
        begin, end = max(cut.first, place.first), min(cut.end, place.end)
        if begin < end:
            of_axis = AxisRange(begin - place.first, end - begin)
            pieces.append(whole_or_slice(tensor, {**cuts[0], axis: of_axis}))
    return pieces
