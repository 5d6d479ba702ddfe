"""A real model in tightly coupled and in slow memory: pools by cost change cycles, not results."""

from __future__ import annotations

import ast
import re
from contextvars import Context

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.levels import number
from support.small_digits import small_convolutions
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.frontend.tflite.importer import import_tflite

pytestmark = [pytest.mark.usefixtures("digits_session"), pytest.mark.slow]

PAGE = ROOT / "docs/placement.md"


def build(
    mod, fast_bytes: int, placement: str, algorithm: str = "auto"
) -> usmp.AOTExecutorFactoryModule:
    fast = PoolInfoProperties(fast_bytes, is_internal=True)
    slow = PoolInfoProperties(read_latency_cycles=8, write_latency_cycles=8, is_internal=True)
    # Row by row nearly all of it would be in the fast memory.
    config = {"tir.usmp.placement": placement, "tir.usmp.algorithm": algorithm}
    with PassContext(config=config, disabled_pass=["StreamOperators"]):
        return usmp.build(
            mod,
            workspace_memory_pools=WorkspaceMemoryPools(
                [WorkspacePoolInfo("dtcm", "c", fast), WorkspacePoolInfo("sdram", "c", slow)]
            ),
            constant_memory_pools=ConstantMemoryPools(
                [
                    ConstantPoolInfo("itcm", "c", pool_info_properties=fast),
                    ConstantPoolInfo("flash", "c", pool_info_properties=slow),
                ]
            ),
        )


def memory(factory: usmp.AOTExecutorFactoryModule) -> dict:
    return factory.metadata["modules"]["default"]["memory"]


@pytest.mark.parametrize(
    ("name", "fast_bytes", "ratio"),
    [
        ("convolutions", 320, 0.82),
        ("digits", 640, 0.99),
        ("mlperf_resnet8_int8", 12 << 10, 0.77),
    ][: number(1, 3)],
)
def test_placement_by_cost(digits_model, shared_model, name, fast_bytes, ratio):
    if name == "convolutions":
        mod = import_tflite(small_convolutions())
    else:
        mod = usmp.import_model(digits_model if name == "digits" else shared_model(name))
    preferred, cheapest = build(mod, fast_bytes, "preference"), build(mod, fast_bytes, "cost")
    greedy = build(mod, fast_bytes, "preference", "greedy_by_size")
    name = "estimated_access_cycles"
    found, by_cost = memory(preferred)["placement"], memory(cheapest)["placement"]
    assert found[name] == found[f"{name}_by_preference"] == by_cost[f"{name}_by_preference"]
    assert by_cost[name] == found[f"{name}_by_cost"] < found[name]
    assert by_cost[name] < ratio * memory(greedy)["placement"][name]
    assert by_cost[f"{name}_lower_bound"] <= by_cost[name]
    for pool in memory(cheapest)["pools"]:
        assert pool["name"] not in ("dtcm", "itcm") or pool["size_bytes"] <= fast_bytes
    (info,) = memory(preferred)["functions"]["main"][0]["inputs"].items()
    random = np.random.default_rng(0)
    values = random.integers(-128, 128, info[1]["shape"], dtype="int8")
    outputs = [factory.run({info[0]: values}) for factory in (preferred, cheapest)]
    for tensor, value in outputs[0].items():
        np.testing.assert_array_equal(outputs[1][tensor], value)
    # A context of its own has no session.
    assert Context().run(build, mod, fast_bytes, "cost").files() == cheapest.files()


def test_the_example_of_the_page(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(code, {})
    printed = ast.literal_eval(capsys.readouterr().out)
    assert printed["policy"] == "cost"
    assert printed["clock_frequency_hz"] == 400_000_000
    cycles = {key: printed[f"estimated_access_cycles{key}"] for key in ("", "_by_preference")}
    assert cycles[""] < cycles["_by_preference"]
