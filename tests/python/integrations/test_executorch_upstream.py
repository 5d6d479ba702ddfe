"""ExecuTorch's own unit tests for memory planning, with this algorithm in the place of `greedy`."""

from __future__ import annotations

import sys
import unittest
from functools import partial
from importlib import util
from pathlib import Path

import pytest

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


def test_they_pass(upstream, capsys):
    loaded = unittest.defaultTestLoader.loadTestsFromModule(upstream)
    cases = {case.id().rsplit(".", 1)[1]: case for suite in loaded for case in suite}
    assert len(cases) == 45
    assert set(cases) >= LAYOUTS | ABOUT_OTHERS
    chosen = [case for name, case in cases.items() if name not in LAYOUTS | ABOUT_OTHERS]
    result = unittest.TestResult()
    unittest.TestSuite(chosen).run(result)
    assert result.testsRun == len(chosen) == 34
    assert [text for _, text in result.errors + result.failures] == []
