"""Trials of ONNX operators."""

from __future__ import annotations

from tvm.relax.frontend.onnx import onnx_frontend

from operator_trials.trial import Generator

GENERATORS: dict[str, Generator] = {}


def registered_operators() -> set[str]:
    """The names of the operators that the front end accepts."""
    return set(onnx_frontend._get_convert_map())
