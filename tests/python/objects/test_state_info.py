"""States as objects of TVM."""

from __future__ import annotations

import numpy as np
import tvm
from tvm_ffi import structural_equal, structural_hash

from usmp.objects.state_info import StateInfo
from usmp.tir.model_operator import model_operator


def test_what_sets_a_state_is_no_part_of_it():
    """Neither of what is equal, nor of texts, in which a span has an address."""
    zeros = tvm.runtime.tensor(np.zeros(2, np.int8))
    span = model_operator(0, "CALL_ONCE", [], []).as_span()
    plain, known = StateInfo("s", 1, zeros), StateInfo("s", 1, zeros, set_by=span)
    assert structural_equal(plain, known)
    assert structural_hash(plain) == structural_hash(known)
    assert repr(plain) == repr(known)
