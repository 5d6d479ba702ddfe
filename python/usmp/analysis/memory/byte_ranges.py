"""Which bytes of which buffer does the argument of a call point to, and how many are used?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, TensorLoad

from usmp.analysis.memory.access import item_bytes
from usmp.analysis.memory.addresses import is_op
from usmp.analysis.memory.buffer_size import has_static_size, size_bytes


@dataclass(frozen=True)
class Place:
    """A byte of the memory behind a variable: a parameter, or the buffer of an AllocBuffer."""

    base: tirx.Var
    byte_offset: int


@dataclass
class Views:
    """Buffers that were declared to lie in another one, as far as it is known where."""

    places: dict[tirx.Var, Place | None] = field(default_factory=dict)

    def declare(self, var: tirx.Var, address: tirx.Expr) -> None:
        """From now on `var` is a view of what lies at `address`, or a pointer to it."""
        self.places[var] = self.place_of(address)

    def place_of(self, address: tirx.Expr) -> Place | None:
        """Where an address points to; None if that is not known before the run."""
        byte_offset = 0
        if is_op(address, "tirx.address_of") and isinstance(address.args[0], TensorLoad):
            load = address.args[0]
            address = load.source
            if not (_is_flat(address) and isinstance(load.indices[0], tirx.IntImm)):
                return None
            byte_offset = int(load.indices[0]) * item_bytes(str(address.dtype))
        elif is_op(address, "tirx.buffer_data"):
            address = address.args[0]
        if not isinstance(address, tirx.Var):
            return None
        place = self.places.get(address, Place(address, 0))
        return None if place is None else Place(place.base, place.byte_offset + byte_offset)


def _is_flat(buffer: tirx.Buffer) -> bool:
    offset = buffer.elem_offset
    starts = offset is None or (isinstance(offset, tirx.IntImm) and int(offset) == 0)
    return starts and len(buffer.shape) == 1 and not buffer.strides


def parameter_bytes(func: tirx.PrimFunc, index: int) -> int | None:
    """How many bytes from the start of a parameter's memory the PrimFunc uses at most; None if
    that is not known, because it passes on the parameter or a pointer to what is declared there."""
    param = func.params[index]
    views: list[tirx.Buffer] = [param] if tirx.is_buffer_var(param) else []
    mentions: Counter[tirx.Var] = Counter()
    expected: Counter[tirx.Var] = Counter()

    def on_declaration(stmt: tirx.DeclBuffer) -> None:
        if stmt.data.same_as(param):
            views.append(stmt.buffer)
            expected.update([param, stmt.buffer])

    def on_call(call: Call) -> None:
        if is_op(call, "tirx.address_of") and isinstance(call.args[0], TensorLoad):
            mentions[call.args[0].source] += 1  # It loads nothing: what is used is not known.

    def on_variable(var: tirx.Var) -> None:
        mentions[var] += 1

    callbacks = [
        (Call, on_call),
        (tirx.DeclBuffer, on_declaration),
        (TensorLoad, lambda load: expected.update([load.source])),
        (tirx.BufferStore, lambda store: expected.update([store.buffer])),
        (tirx.Var, on_variable),
    ]
    tvm_ffi.structural_walk(func.body, callbacks)
    if any(mentions[var] > expected[var] for var in {param, *views}):
        return None
    return max(map(size_bytes, views), default=0) if all(map(has_static_size, views)) else None
