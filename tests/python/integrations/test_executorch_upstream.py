"""ExecuTorch's own unit tests for memory planning, with this algorithm in the place of `greedy`."""

from __future__ import annotations

import sys
import unittest
from functools import partial
from importlib import util
from pathlib import Path

import pytest

from support import levels

pytestmark = pytest.mark.models

LAYOUTS = {
    # The places that `greedy` finds; here, an output is in the place of its input.
    "test_multiple_pools_1",
}
ABOUT_OTHERS = {
    # `naive` alone.
    "test_map",
    "test_multi_map",
    "test_multiple_pools_0",
    # No plan.
    "test_filter_nodes",
    "test_overlap",
    "test_set_alloc_node_spec_uses_shared_alloc_offset",
    *(f"test_{name}_inputs" for name in ("tensor_only", "mixed", "primitive_only", "no")),
}

IN_LONG_RUNS = {
    # The model of `test_different_tensor_sizes`, eight times.
    "test_graph_input_output",
}


def load(name: str, path: Path):
    """The module of the tests, whose cases were made when it was read: so with our algorithm."""
    spec = util.spec_from_file_location(name, path)
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def upstream(monkeypatch):
    import torch
    from executorch.exir import memory_planning

    from usmp_solver.integrations.executorch import MemoryPlanning

    algorithm = MemoryPlanning()

    def greedy(alignment, specs, graph_module, graph_signature, extra_padding=0):
        return algorithm(alignment, specs, graph_module, graph_signature, extra_padding)

    monkeypatch.setattr(memory_planning, "greedy", greedy)
    name = "executorch_tests_of_memory_planning"
    path = Path(memory_planning.__file__).parent / "tests/test_memory_planning.py"
    module = load(name, path)

    def export(*arguments, strict=True, **keywords):
        # The strict way of exporting takes longer, and makes the same graphs.
        return torch.export.export(*arguments, strict=False, **keywords)

    monkeypatch.setattr(module, "export", export)
    # What a test makes while it runs, it makes for `naive` too, if one does not say otherwise.
    ours = partial(module.maketest, criteria=[(greedy, True)])
    monkeypatch.setattr(module, "maketest", ours)
    yield module
    del sys.modules[name]


def name_of(case: unittest.TestCase) -> str:
    return case.id().rpartition(".")[2]


@pytest.mark.slow
def test_they_pass(upstream, capsys):
    suites = [list(suite) for suite in unittest.defaultTestLoader.loadTestsFromModule(upstream)]
    names = [name_of(case) for suite in suites for case in suite]
    assert len(names) == len(set(names)) == 45
    left_out = LAYOUTS | ABOUT_OTHERS
    assert set(names) >= left_out | IN_LONG_RUNS
    if not levels.is_long_run():
        left_out |= IN_LONG_RUNS
    chosen = []
    for suite in suites:
        cases = [case for case in suite if name_of(case) not in left_out]
        # Those of storages make no programs, and take no time.
        of_storages = any("storage" in name_of(case) for case in cases)
        chosen += cases if of_storages else levels.sample(cases, 1)
    result = unittest.TestResult()
    unittest.TestSuite(chosen).run(result)
    assert result.testsRun == len(chosen) == levels.number(11, 34)
    assert [text for _, text in result.errors + result.failures] == []
