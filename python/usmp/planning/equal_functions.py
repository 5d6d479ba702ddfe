"""Functions of TVM that are the same in all that code and reports are made from."""

from __future__ import annotations

from hashlib import sha256

from tvm import tirx
from tvm.ir import Call, Var, save_json
from tvm_ffi import structural_equal, structural_hash

from usmp.tir.model_operator import single_spans
from usmp.tir.nodes import nodes_of


def written_out(func: tirx.PrimFunc) -> bytes:
    """A digest of all that an operator has: its statements, names, attributes and spans. Functions
    that have the same one are the same but for their addresses."""
    return sha256(save_json(func).encode()).digest()


class EqualFunction:
    """A key that functions have in common that are equal, also in their names and spans.

    Constants are compared, not written out, as a main function may have megabytes of them.
    """

    def __init__(self, func: tirx.PrimFunc) -> None:
        self._func = func
        self._names = [str(var.name) for var in nodes_of(func, Var)]
        calls = [func, *nodes_of(func.body, Call)]
        self._spans = [
            [(str(one.source_name.name), int(one.line)) for one in single_spans(node.span)]
            for node in calls
        ]
        # Loops that are to be unrolled are marked by their variables outside of them.
        self._hash = structural_hash(func, map_free_vars=True, skip_tensor_content=True)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, EqualFunction)
            and (self._names, self._spans) == (other._names, other._spans)
            and structural_equal(self._func, other._func, map_free_vars=True)
        )
