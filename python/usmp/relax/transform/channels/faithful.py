"""Whether an operator that is made from its record is the one that has the record."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call

from usmp.ops.emit import without_record
from usmp.relax.transform.channels.step import Kept, RecordedCall, Step
from usmp.support.errors import UnsupportedModelError


def makes(
    make: Callable[[relax.BlockBuilder, relax.Expr], relax.Expr], recorded: RecordedCall
) -> bool:
    """Whether `make` of what the call reads first gives the PrimFunc that it calls."""
    made = made_again(lambda builder: make(builder, recorded.arguments[0]), recorded.prim_func)
    return made is not None


def is_faithful(step: Step) -> bool:
    """Whether the step, made anew with all channels, is the operator that it was; a record could
    say less than its PrimFunc does."""
    if step.prim_func is None:
        return True
    kept = Kept((None,) * len(step.operands), np.arange(step.output.count))
    made = made_again(lambda builder: step.rebuild(builder, step.operands, kept), step.prim_func)
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
