"""Operators by vectors that run interleaved: they keep rows, and compute the same bytes."""

from __future__ import annotations

import pytest

import usmp
from support.built_ways import in_order, random_runs
from support.c_program import SANITIZERS, run_as_program
from support.imported_models import imported_model
from support.levels import in_long_run
from support.planner_contexts import planner_context

SMALL = {"sequence_residual": 400, "sequence_inverted_bottleneck": 576}
PUBLIC = {"mlperf_resnet8_int8": 14528, "mlperf_vww_96_int8": 28160}
"""The most bytes that interleaved operators may take; a third less than others take."""


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("name", [*SMALL, *in_long_run(PUBLIC)])
def test_models_keep_rows(shared_model, name, tmp_path):
    mod = imported_model(name) if name in SMALL else usmp.import_model(shared_model(name))
    built = {}
    for streams in (False, True):
        config = {"use_workspace_io": True}
        if not streams:  # Only its outputs count, not its bytes.
            config |= {"disabled_pass": ["StreamOperators"], "algorithm": "hill_climb"}
        with planner_context(config, opt_level=3):
            built[streams] = usmp.build(mod, "c -mcpu=cortex-m55")
    most = (SMALL | PUBLIC)[name]
    assert built[True].interface.workspace_size_bytes <= most
    assert built[False].interface.workspace_size_bytes >= most * 3 / 2
    names = [str(tensor.info.name) for tensor in built[False].interface.inputs]
    data = in_order(random_runs(built[False], 2), names)
    expected = run_as_program(built[False], tmp_path / "whole", ["-O0"], data)
    assert run_as_program(built[True], tmp_path / "rows", SANITIZERS, data) == expected
