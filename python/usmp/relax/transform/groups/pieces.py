"""The pieces of a group of fused operators: of each, few tensors have to be there at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from tvm import relax, tirx
from tvm.ir import Call, IRModule, Var

from usmp.relax.static_shapes import has_static_shape
from usmp.tir.nodes import nodes_of

_MOST_READ = 2
"""Large tensors that a piece of several operators reads: a chain of sums reads the sum of those
before and one more."""

_MOST_OPERATORS = 500
"""Of a group that is looked at."""

_EXACT_FLOATS = ("float32", "float64")
"""Those that operators compute with as they are stored; smaller ones are float32 in an operator."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Operators of a group that stay together.

    Parameters
    ----------
    bindings
        the operators, in order; the last one makes the result.
    reads
        the parameters of the group, and results of other pieces, that they read, each once.
    """

    bindings: tuple[relax.VarBinding, ...]
    reads: tuple[Var, ...]

    @property
    def result(self) -> Var:
        """The only one that others read."""
        return self.bindings[-1].var


def pieces_of(mod: IRModule, group: relax.Function, constants: Collection[Var]) -> list[Piece]:
    """The pieces of a group, in order; one if it cannot be split, or reads few large tensors.

    A tensor is large to an operator if it has at least as many elements as the result. An
    operator goes to the piece of the only reader of its result, if that then reads no more than
    two large tensors, or no more than before, or if its result must not be rounded to be stored.

    Parameters
    ----------
    mod
        has the PrimFuncs of the operators.
    group
        a function that FuseOps made: operators, of which the last one makes the result.
    constants
        parameters that are constants: they take no memory that could be freed.
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
    """Whether what reads a result could compute other bits if it was stored.

    Small floats are rounded when they are stored. Compilers may contract a product and the sum
    that it is a term of into one operation, which rounds once; a division or a power of a constant
    is a product to them.
    """
    dtype = str(binding.var.ty.dtype)
    if "float" not in dtype:
        return False
    if dtype not in _EXACT_FLOATS:
        return True
    body = mod[binding.value.args[0]].body
    products = [*nodes_of(body, tirx.Mul), *nodes_of(body, tirx.Div)]
    products += [call for call in nodes_of(body, Call) if _name(call) == "tirx.pow"]
    return any("float" in str(product.ty.dtype) for product in products)


def _merge_some(
    pieces: dict[Var, Piece],
    bindings: list[relax.VarBinding],
    constants: Collection[Var],
    unstored: Collection[Var],
) -> bool:
    """Merge pieces, by result, into their only readers; whether there was any to merge."""
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
    made = {binding.var for binding in bindings}
    read = dict.fromkeys(var for binding in bindings for var in operands(binding))
    return Piece(tuple(bindings), tuple(var for var in read if var not in made))


def _large_reads(piece: Piece, constants: Collection[Var]) -> int:
    """How many tensors it reads that are large, and no constants."""
    reads = {
        var
        for binding in piece.bindings
        for var in operands(binding)
        if _elements(var) >= _elements(binding.var)
    }
    return len(reads.intersection(piece.reads).difference(constants))


def operands(binding: relax.VarBinding) -> list[Var]:
    """The tensors that an operator reads, in order."""
    return [argument for argument in binding.value.args[1].fields if isinstance(argument, Var)]


def _is_plain(binding: relax.Binding) -> bool:
    """Whether it is a call of a PrimFunc with one result, and all sizes are known."""
    value = getattr(binding, "value", None)
    if not isinstance(value, Call) or _name(value) != "relax.call_tir":
        return False
    # A third argument has sizes that only the run knows.
    return len(value.args) == 2 and all(
        has_static_shape(var.ty) for var in (binding.var, *operands(binding))
    )


def _name(call: Call) -> str | None:
    return getattr(call.op, "name", None)


def _elements(var: Var) -> int:
    return prod(int(extent) for extent in var.ty.shape)
