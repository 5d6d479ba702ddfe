"""Groups of fused operators, partitioned into pieces that read few large tensors each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from tvm import relax, tirx
from tvm.ir import Call, IRModule, Var

from usmp.relax.static_shapes import has_static_shape
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name

_MOST_READ = 2
"""Most large tensors that a merged piece reads: in a chain of sums, the sum so far and one more."""

_MOST_OPERATORS = 500
"""Most operators of a group to partition."""

_EXACT_FLOATS = ("float32", "float64")
"""Float types that are not widened inside of an operator; smaller ones are float32 there."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Operators of a group that stay fused.

    Parameters
    ----------
    bindings
        the operators, in order; the last one computes the result.
    reads
        parameters of the group, and results of other pieces, that the operators read.
    """

    bindings: tuple[relax.VarBinding, ...]
    reads: tuple[Var, ...]

    @property
    def result(self) -> Var:
        """The only variable of the piece with readers outside."""
        return self.bindings[-1].var


def pieces_of(mod: IRModule, group: relax.Function, constants: Collection[Var]) -> list[Piece]:
    """Return the pieces of a group, in order; one if it cannot be split or reads few large tensors.

    A tensor is large for an operator if it has at least as many elements as the operator's result.
    A piece is merged into the only reader of its result if the merged piece reads at most two large
    tensors, or no more than the reader did, or if storing the result could change bits of readers.

    Parameters
    ----------
    mod
        the module with the PrimFuncs of the operators.
    group
        a function of FuseOps, whose last operator computes the result.
    constants
        parameters that are constants, which occupy no workspace.
    """
    bindings = [binding for block in group.body.blocks for binding in block.bindings]
    whole = Piece(tuple(bindings), tuple(group.params))
    is_plain = all(_is_plain(binding) for binding in bindings)
    if not is_plain or len(bindings) > _MOST_OPERATORS:
        return [whole]
    if not group.body.body.same_as(whole.result):
        return [whole]
    if _large_reads(whole, constants) <= _MOST_READ:
        return [whole]
    unstored = {binding.var for binding in bindings[:-1] if _may_round_otherwise(mod, binding)}
    pieces = {binding.var: _piece([binding]) for binding in bindings}
    while _merge_some(pieces, bindings, constants, unstored):
        pass
    return [whole] if unstored.intersection(pieces) else list(pieces.values())


def _may_round_otherwise(mod: IRModule, binding: relax.VarBinding) -> bool:
    """Return whether storing a result could change the bits that its readers compute.

    Small floats are rounded when they are stored. Compilers may contract a product and a sum into a
    fused multiply-add, which rounds once; they turn some divisions and powers into products.
    """
    dtype = str(binding.var.ty.dtype)
    if "float" not in dtype:
        return False
    if dtype not in _EXACT_FLOATS:
        return True
    body = mod[binding.value.args[0]].body
    products = [*nodes_of(body, tirx.Mul), *nodes_of(body, tirx.Div)]
    products += [call for call in nodes_of(body, Call) if op_name(call) == "tirx.pow"]
    return any("float" in str(product.ty.dtype) for product in products)


def _merge_some(
    pieces: dict[Var, Piece],
    bindings: list[relax.VarBinding],
    constants: Collection[Var],
    unstored: Collection[Var],
) -> bool:
    """Merge `pieces` (result -> piece) into their only readers. Return whether any was merged."""
    readers: dict[Var, list[Var]] = {}
    for piece in pieces.values():
        for var in piece.reads:
            readers.setdefault(var, []).append(piece.result)
    merged = False
    for result in list(pieces):
        for var in pieces[result].reads:
            if var not in pieces or readers[var] != [result]:
                continue
            parts = {*pieces[var].bindings, *pieces[result].bindings}
            joined = _piece([binding for binding in bindings if binding in parts])
            before = _large_reads(pieces[result], constants)
            if var in unstored or _large_reads(joined, constants) <= max(_MOST_READ, before):
                for read in pieces[var].reads:
                    readers[read] = list(
                        dict.fromkeys(result if r == var else r for r in readers[read])
                    )
                pieces[result] = joined
                del pieces[var]
                merged = True
    return merged


def _piece(bindings: list[relax.VarBinding]) -> Piece:
    results = {binding.var for binding in bindings}
    read = dict.fromkeys(var for binding in bindings for var in operands(binding))
    return Piece(tuple(bindings), tuple(var for var in read if var not in results))


def _large_reads(piece: Piece, constants: Collection[Var]) -> int:
    """Count the large tensors that a piece reads, without constants."""
    reads = {
        var
        for binding in piece.bindings
        for var in operands(binding)
        if _elements(var) >= _elements(binding.var)
    }
    return len(reads.intersection(piece.reads).difference(constants))


def operands(binding: relax.VarBinding) -> list[Var]:
    """Return the tensors that an operator reads, in order."""
    return [argument for argument in binding.value.args[1].fields if isinstance(argument, Var)]


def _is_plain(binding: relax.Binding) -> bool:
    """Return whether a binding calls a PrimFunc with one result and static shapes."""
    value = getattr(binding, "value", None)
    if not isinstance(value, Call) or op_name(value) != "relax.call_tir":
        return False
    # A third argument holds symbolic sizes.
    return len(value.args) == 2 and all(
        has_static_shape(var.ty) for var in (binding.var, *operands(binding))
    )


def _elements(var: Var) -> int:
    return prod(int(extent) for extent in var.ty.shape)
