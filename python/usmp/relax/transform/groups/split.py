"""The rewrite of a main function that computes some groups of operators piece by piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, Var

from usmp.relax.replace_main import with_main_body
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.groups.pieces import Piece


def with_pieces(mod: IRModule, groups: Mapping[Var, Sequence[Piece]]) -> IRModule:
    """Split groups of operators into their pieces.

    Each piece is bound directly after its last operand, so that operands die early.

    Parameters
    ----------
    mod
        a module after FuseOps.
    groups
        variable of a group's result in `main` -> its pieces.
    """
    if not groups:
        return mod
    main = main_function(mod)
    builder = relax.BlockBuilder(mod)
    blocks = []
    for block in main.body.blocks:
        # Position of a binding in the block -> bindings to insert after it.
        inserted: dict[int, list[relax.VarBinding]] = {}
        places: dict[Var, int] = {}
        for place, binding in enumerate(block.bindings):
            places[binding.var] = place
            if binding.var in groups:
                _place(builder, mod, binding, groups[binding.var], places, inserted)
        bindings = list(inserted.get(-1, []))
        for place, binding in enumerate(block.bindings):
            if binding.var not in groups:
                bindings.append(binding)
            bindings.extend(inserted.get(place, []))
        is_dataflow = isinstance(block, relax.DataflowBlock)
        blocks.append((relax.DataflowBlock if is_dataflow else relax.BindingBlock)(bindings))
    return with_main_body(builder.get(), relax.SeqExpr(blocks, main.body.body))


def _place(
    builder: relax.BlockBuilder,
    mod: IRModule,
    binding: relax.VarBinding,
    pieces: Sequence[Piece],
    places: Mapping[Var, int],
    inserted: dict[int, list[relax.VarBinding]],
) -> None:
    """Bind the results of pieces. The last piece keeps the variable and position of the group."""
    arguments = dict(zip(mod[binding.value.op].params, binding.value.args, strict=True))
    ready = {
        param: places.get(argument, -1) if isinstance(argument, Var) else -1
        for param, argument in arguments.items()
    }
    for piece in pieces:
        is_last = piece is pieces[-1]
        var = binding.var if is_last else relax.DataflowVar("part", piece.result.ty)
        place = max((ready[read] for read in piece.reads), default=-1)
        if is_last:
            place = places[binding.var]
        value = _call(builder, piece, [arguments[read] for read in piece.reads])
        inserted.setdefault(place, []).append(relax.VarBinding(var, value))
        arguments[piece.result], ready[piece.result] = var, place


def _call(builder: relax.BlockBuilder, piece: Piece, arguments: list[relax.Expr]) -> Call:
    """Return a call that computes a piece: of the operator itself, or of a function to be fused."""
    if len(piece.bindings) == 1:
        return _with_operands(piece.bindings[0], dict(zip(piece.reads, arguments, strict=True)))
    params = [relax.Var(f"arg{index}", read.ty) for index, read in enumerate(piece.reads)]
    known: dict[Var, relax.Expr] = dict(zip(piece.reads, params, strict=True))
    bindings = []
    for binding in piece.bindings:
        kind = relax.Var if binding.var.same_as(piece.result) else relax.DataflowVar
        value = _with_operands(binding, known)
        known[binding.var] = kind(binding.var.name, binding.var.ty)
        bindings.append(relax.VarBinding(known[binding.var], value))
    result = known[piece.result]
    body = relax.SeqExpr([relax.DataflowBlock(bindings)], result)
    function = relax.Function(params, body, result.ty).with_attr("Primitive", True)
    names = [str(b.value.args[0].name_hint).removeprefix("fused_") for b in piece.bindings]
    variable: GlobalVar = builder.add_func(function, "fused_" + "_".join(names))
    return Call(variable, arguments, ret_ty=result.ty)


def _with_operands(binding: relax.VarBinding, known: Mapping[Var, relax.Expr]) -> Call:
    """Return the call of a PrimFunc with its operands replaced."""
    call = binding.value
    fields = [known[a] if isinstance(a, Var) else a for a in call.args[1].fields]
    return relax.call_tir(call.args[0], relax.Tuple(fields), call.ty)
