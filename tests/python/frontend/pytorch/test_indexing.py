"""Reads at indices: programs compute what PyTorch computes, whatever their arguments."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import outcome_of_program

# Not `index`: TVM's own `take` counts no index of a run from the end.
OPERATORS = ("embedding.default", "index_select.default", "gather.default", "diagonal.default")


@pytest.mark.slow
@pytest.mark.cc
def test_like_pytorch():
    found = outcome_of_program(OPERATORS, range(4))
    assert found.is_compared, found.detail
