"""usmp.get_vm_pipeline(): TVM's default pipeline, with PlanStorage in it."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import Call, Op
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from usmp.relax.transform import PlanStorage
from usmp.tir.nodes import nodes_of
from usmp.vm_pipeline import default_passes, with_planner

CUDA = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host="llvm")


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((8, 64), "float32")) -> R.Tensor((8, 64), "float32"):
        with R.dataflow():
            a = R.nn.softmax(x)
            b = R.nn.softmax(a)
            c = R.flip(b, axis=1)
            d = R.nn.softmax(c)
            e = R.add(d, c)
            f = R.nn.softmax(e)
            R.output(f)
        return f


def calls(function, name):
    return [
        each
        for each in nodes_of(function, Call)
        if isinstance(each.op, Op) and each.op.name == name
    ]


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", [usmp.get_vm_pipeline(), "usmp"])
def test_it_is_a_pipeline_of_tvm_compile(pipeline):
    x = np.random.default_rng(0).standard_normal((8, 64)).astype("float32")
    results = []
    for each in (pipeline, relax.get_default_pipeline(tvm.target.Target("llvm"))):
        machine = relax.VirtualMachine(tvm.compile(Model, "llvm", relax_pipeline=each), tvm.cpu())
        results.append(machine["main"](tvm.runtime.tensor(x)).numpy())
    np.testing.assert_array_equal(*results)


def test_all_other_passes_are_those_of_tvm():
    target = tvm.target.Target("llvm")
    before = [str(each.info.name) for each in default_passes(target)]
    after = [str(each.info.name) for each in with_planner(default_passes(target), PlanStorage())]
    assert [name.replace("usmp.PlanStorage", "StaticPlanBlockMemory") for name in after] == before
    assert after.count("usmp.PlanStorage") == 1


@pytest.mark.parametrize(
    "target",
    [
        "llvm",
        CUDA,
        tvm.target.Target({"kind": "rocm", "mcpu": "gfx900"}),
        "metal",
        "vulkan",
        "opencl",
        tvm.target.Target({"kind": "opencl", "device": "adreno"}),
    ],
    ids=lambda target: str(target.kind.name) if isinstance(target, tvm.target.Target) else target,
)
def test_targets(target):
    target = tvm.target.Target(target) if isinstance(target, str) else target
    names = [str(each.info.name) for each in default_passes(target)]
    assert names.count("StaticPlanBlockMemory") == 1


@pytest.mark.slow
def test_a_module_for_a_gpu():
    passes = with_planner(default_passes(CUDA), PlanStorage())
    at = [str(each.info.name) for each in passes].index("usmp.PlanStorage")
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}), CUDA:
        planned = tvm.transform.Sequential(passes[: at + 1])(Model)
        built = tvm.transform.Sequential(passes[at + 1 :])(planned)
    (storage,) = calls(planned["main"], "relax.memory.alloc_storage")
    tensors = calls(planned["main"], "relax.memory.alloc_tensor")
    (facts,) = usmp.storage_plan(planned)
    assert int(storage.args[0].values[0]) == facts.storages[0].bytes == 2 * 8 * 64 * 4
    assert {int(each.args[1]) for each in tensors} == {0, 8 * 64 * 4}
    assert len(calls(planned["main"], "relax.builtin.alloc_tensor")) == 1
    # The storage is allocated once for all runs.
    assert "cuda_graph_alloc" in {str(each.name_hint) for each in built.functions}
    kernels = tvm.IRModule(
        {v: f for v, f in built.functions.items() if isinstance(f, tvm.tirx.PrimFunc)}
    )
    passes, _, _ = tvm.s_tir.pipeline.default_s_tir_pipeline()
    lowered = passes(tvm.tirx.transform.BindTarget(CUDA)(kernels))
    offsets = {
        str(param.name)
        for variable, func in lowered.functions.items()
        if "kernel" in str(variable.name_hint)
        for param in func.params
        if "elem_offset" in str(param.name)
    }
    assert offsets


def test_a_pipeline_that_is_not_as_expected():
    with pytest.raises(ValueError, match=r"works with TVM 0\.27; in this one, .* 0 times"):
        with_planner([relax.transform.LegalizeOps()], PlanStorage())


def test_no_target():
    with pytest.raises(ValueError, match=r"there is no target; give tvm\.compile one"):
        usmp.get_vm_pipeline()(Model)


def test_a_target_without_a_pipeline():
    with pytest.raises(ValueError, match="not yet supported by default pipeline"):
        default_passes(tvm.target.Target("c"))
