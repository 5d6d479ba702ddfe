"""Recurrent layers: programs compute what PyTorch computes, whatever their arguments."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import outcome_of_program

OPERATORS = ("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input")


@pytest.mark.slow
@pytest.mark.cc
def test_like_pytorch():
    found = outcome_of_program(OPERATORS, range(3))
    assert found.is_compared, found.detail
