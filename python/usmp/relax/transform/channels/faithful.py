"""Whether an operator that is made from its record is the one that has the record."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call

from usmp.ops.emit import without_record
from usmp.relax.transform.channels.channel_operator import ChannelOperator, Kept, RecordedCall
from usmp.support.errors import UnsupportedModelError


def makes(
    make: Callable[[relax.BlockBuilder, relax.Expr], relax.Expr], recorded: RecordedCall
) -> bool:
    """Whether `make` of what the call reads first gives the PrimFunc that it calls."""
    made = made_again(lambda builder: make(builder, recorded.arguments[0]), recorded.prim_func)
    return made is not None


def is_faithful(operator: ChannelOperator) -> bool:
    """Whether the operator, made anew with all channels, is what it was; a record could
    say less than its PrimFunc does."""
    if operator.prim_func is None:
        return True
    kept = Kept((None,) * len(operator.operands), np.arange(operator.output.count))
    made = made_again(
        lambda builder: operator.rebuild(builder, operator.operands, kept), operator.prim_func
    )
    return made is not None


def made_again(
    make: Callable[[relax.BlockBuilder], relax.Expr], prim_func: tirx.PrimFunc
) -> Call | None:
    """The call that `make` gives; None unless it is one of this PrimFunc, records apart."""
    builder = relax.BlockBuilder()
    try:
        made = make(builder)
    except UnsupportedModelError:
        return None
    again = builder.get()[made.args[0]]
    is_same = tvm_ffi.structural_equal(without_record(again), without_record(prim_func))
    return made if is_same else None
