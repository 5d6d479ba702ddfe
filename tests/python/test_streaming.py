"""Models whose operators run interleaved give the same bytes, in every way they are built."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tvm.ir import IRModule

import usmp
from support.c_program import SANITIZERS, run_as_program
from support.levels import number
from support.planner_contexts import planner_context
from support.quantized_models.chain import Chain
from support.quantized_models.model import Spec
from support.quantized_models.windows import Window
from support.random_segments import any_segments
from usmp.analysis import pool_usage
from usmp.names import WORKSPACE_IO
from usmp.objects.attributes.compared import compared_of
from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR

pytestmark = pytest.mark.models

RUNS = bytes(number * 7 % 256 for number in range(2 * 12 * 8 * 3))


def network(*outputs: str) -> IRModule:
    """A residual block with windows, a stride and a pool; some of its tensors are outputs."""
    chain, same = Chain(), Window((3, 3), (1, 1), (1, 1), "SAME")
    x = chain.input(Spec((1, 12, 8, 3), 0.05, -3, "int8"))
    first = chain.conv(x, 8, same)
    deep = chain.conv(first, 1, same, code="DEPTHWISE_CONV_2D")
    other = chain.conv(deep, 8, Window((1, 1), (1, 1), (1, 1), "SAME"))
    added = chain.add(first, other, chain.specs[other])
    strided = Window((3, 3), (2, 2), (1, 1), "SAME")
    small = chain.conv(added, 1, strided, code="DEPTHWISE_CONV_2D")
    last = chain.pool("MAX_POOL_2D", small, Window((2, 2), (2, 2), (1, 1), "VALID"))
    values = {"first": first, "added": added, "last": last}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(chain.finish(*(values[name] for name in outputs)))
        return usmp.import_model(path)


def built(mod: IRModule, target: str = "c", **options: object) -> usmp.AOTExecutorFactoryModule:
    with planner_context(options):
        return usmp.build(mod, target)


def outputs(factory: usmp.AOTExecutorFactoryModule, flags: list[str]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return run_as_program(factory, Path(folder), flags, RUNS)


def segments(factory: usmp.AOTExecutorFactoryModule) -> int:
    return sum("_to_" in str(variable.name_hint) for variable in factory.ir_mod.functions)


def peak(factory: usmp.AOTExecutorFactoryModule) -> int:
    """Bytes of the workspace, without constants."""
    usage = pool_usage(factory.ir_mod.attrs[MEMORY_PLAN_ATTR.name])
    return sum(use.peak_bytes for use in usage if str(use.pool_name) == "global_workspace")


WAYS = {
    "c": {"debug": "poison_dead_bytes", "use_workspace_io": True},
    "c -mcpu=cortex-m3": {"disabled_pass": ("OverlapInputsAndOutputs",), "code": "small"},
    "c -mcpu=cortex-m4": {"use_workspace_io": True, "preserve_inputs": True},
}


def test_the_same_bytes():
    mod = network("last")
    expected = outputs(built(mod, disabled_pass=("OverlapInputsAndOutputs",)), ["-O0"])
    for target, options in WAYS.items():
        with any_segments(0):
            streamed = built(mod, target, **options)
        assert segments(streamed) == 1
        # Sanitizers take most of the time.
        flags = SANITIZERS if target != "c -mcpu=cortex-m3" or number(0, 1) else ["-O0"]
        assert outputs(streamed, flags) == expected, target


def test_outputs_that_are_read_again():
    """They are pointers to `__tvm_main__`, or in the workspace."""
    mod = network("last", "added", "first")
    expected = outputs(built(mod, disabled_pass=("OverlapInputsAndOutputs",)), ["-O0"])
    for workspace_io in (False, True):
        with any_segments(0):
            streamed = built(mod, use_workspace_io=workspace_io)
        assert segments(streamed) == 1
        assert outputs(streamed, SANITIZERS) == expected


def test_less_memory():
    mod = network("last")
    assert peak(built(mod)) < peak(built(mod, disabled_pass=("StreamOperators",))) / 2


def test_inputs_and_outputs_in_the_workspace_are_compared_as_they_would_be_planned():
    """Operators run interleaved then, too."""
    mod = network("last")
    compared = usmp.build(mod, "c", compare_workspace_io=True)
    planned = built(mod, use_workspace_io=True)
    [asked] = [line for line in compared_of(compared.ir_mod) if line.stage == WORKSPACE_IO]
    assert [other.peak_bytes for other in asked.alternatives] == [peak(planned)]


@pytest.mark.parametrize("workspace_io", [False, True])
def test_two_compilations_give_the_same_bytes(workspace_io):
    first, second = (built(network("last"), use_workspace_io=workspace_io) for _ in range(2))
    assert first.files() == second.files()
