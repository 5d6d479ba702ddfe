"""`usmp.build`: arguments, options of the PassContext, and the factory that it returns."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm.ir.transform import PassContext

import usmp
from support.library_files import library_files
from support.relax_models import PARAMS, Attention, X, attention
from usmp.objects import BufferInfoKind, PoolAllocation


def build(options: dict | None = None, **arguments) -> usmp.AOTExecutorFactoryModule:
    config = {f"tir.usmp.{name}": value for name, value in (options or {}).items()}
    with PassContext(opt_level=3, config=config):
        return usmp.build(Attention, **{"params": PARAMS, **arguments})


def message_of(error_type: type[Exception] = ValueError, options=None, **arguments) -> str:
    with pytest.raises(error_type) as error:
        build(options, **arguments)
    return str(error.value).split("\n\n")[0]


def result_of(factory: usmp.AOTExecutorFactoryModule) -> np.ndarray:
    (value,) = factory.run({"x": X}).values()
    return value


def memory_of(factory: usmp.AOTExecutorFactoryModule) -> dict:
    (module,) = factory.metadata["modules"].values()
    return module["memory"]


def workspace_bytes(factory: usmp.AOTExecutorFactoryModule) -> int:
    return memory_of(factory)["functions"]["main"][0]["workspace_size_bytes"]


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"enable": True},
        {"enable": False},
        {"algorithm": "auto"},
        {"algorithm": "exact"},
        {"algorithm": "exact", "time_budget": "10min"},
        {"algorithm": "greedy_by_size"},
        {"algorithm": "greedy_by_conflicts"},
        {"algorithm": "no_sharing"},
        {"custom_algorithm": "greedy_by_conflicts"},
        {"use_workspace_io": True},
        {"use_workspace_io": False},
    ],
    ids=str,
)
def test_every_option_gives_the_same_result(options):
    np.testing.assert_allclose(result_of(build(options)), attention(), rtol=1e-5)


@pytest.mark.slow
def test_without_a_pass_context_memory_is_planned():
    factory = usmp.build(Attention, params=PARAMS)
    assert memory_of(factory)["algorithm"] == "auto"
    assert workspace_bytes(factory) == workspace_bytes(build({"enable": True}))


@pytest.mark.slow
def test_buffers_share_less_without_usmp_and_nothing_with_no_sharing():
    apart, without, planned = (
        build(options) for options in ({"algorithm": "no_sharing"}, {"enable": False}, {})
    )
    algorithms = [memory_of(factory)["algorithm"] for factory in (apart, without, planned)]
    assert algorithms == ["no_sharing", "greedy_by_size", "auto"]
    assert workspace_bytes(apart) > workspace_bytes(without) >= workspace_bytes(planned)


def test_without_usmp_there_is_no_time_budget():
    with pytest.raises(ValueError, match="not for greedy_by_size"):
        build({"enable": False, "time_budget": "1s"})


def test_custom_algorithm_wins_over_algorithm():
    factory = build({"algorithm": "no_sharing", "custom_algorithm": "greedy_by_conflicts"})
    assert memory_of(factory)["algorithm"] == "greedy_by_conflicts"


@pytest.mark.slow
def test_workspace_io_places_inputs_and_outputs():
    (pool,) = (
        p for p in memory_of(build({"use_workspace_io": True}))["pools"] if p["kind"] == "workspace"
    )
    kinds = {b["name"]: b["kind"] for b in pool["buffers"] if b["kind"] != "intermediate"}
    assert kinds == {"x": "input", "output": "output"}
    assert {kind.name for kind in BufferInfoKind} >= {"INPUT", "OUTPUT", "INTERMEDIATE"}


@pytest.mark.parametrize(
    ("option", "value"),
    [("enable", "yes"), ("use_workspace_io", 1.5), ("algorithm", 3), ("custom_algorithm", True)],
)
def test_option_of_the_wrong_type(option, value):
    with pytest.raises(AttributeError, match=f"Expect config tir.usmp.{option} to have type "):
        PassContext(config={f"tir.usmp.{option}": value})


def test_unknown_algorithm():
    assert message_of(options={"algorithm": "nope"}) == (
        "The selected USMP algorithm : nope is not defined. Algorithms: auto, exact, "
        "greedy_by_size, greedy_by_conflicts, hill_climb, no_sharing"
    )


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("tensor", [np.asarray, tvm.runtime.tensor], ids=["numpy", "tvm"])
def test_params_become_constants(tensor):
    factory = build(params={name: tensor(value) for name, value in PARAMS.items()})
    assert list(factory.load().inputs) == ["x"]
    np.testing.assert_allclose(result_of(factory), attention(), rtol=1e-5)


@pytest.mark.cc
def test_parameters_without_value_stay_inputs():
    factory = build(params={"w": PARAMS["w"]})
    (value,) = factory.run({"x": X, "v": PARAMS["v"]}).values()
    np.testing.assert_allclose(value, attention(), rtol=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"nope": X},
            'main has no parameter "nope"; its parameters: '
            "x: float32[1, 16], w: float32[16, 64], v: float32[64, 16]",
        ),
        (
            {"w": X},
            'the value of parameter "w" is float32[1, 16]; main takes float32[16, 64]',
        ),
        (
            {"w": PARAMS["w"].astype(np.int8)},
            'the value of parameter "w" is int8[16, 64]; main takes float32[16, 64]',
        ),
        (
            {"w": [1.0]},
            'the value of parameter "w" is of type list; '
            "give a numpy array or a tvm.runtime.Tensor",
        ),
    ],
    ids=["unknown", "shape", "dtype", "list"],
)
def test_wrong_params(params, message):
    assert message_of(params=params) == message


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("net", "tvmgen_net"),
        ("my-net 1.0", "tvmgen_my_net_1_0"),
        ("int", "tvmgen_int"),
        ("7", "tvmgen_7"),
        ("../net", "tvmgen____net"),
        ('q"/*\n*/é', "tvmgen_q________"),
    ],
)
def test_module_name_is_the_prefix_in_c(name, prefix):
    factory = build(module_name=name)
    stem = prefix.removeprefix("tvmgen_")
    assert set(factory.files()) == {
        f"codegen/host/include/{prefix}.h",
        f"codegen/host/src/{stem}_lib0.c",
        "metadata.json",
        f"src/{stem}.tir",
        *library_files(stem),
    }
    assert f"int32_t {prefix}_run(" in factory.header
    assert list(factory.metadata["modules"]) == [name]
    np.testing.assert_allclose(result_of(factory), attention(), rtol=1e-5)


def test_empty_module_name():
    assert message_of(module_name="") == "module_name is empty; it is the prefix of the C symbols"


@pytest.mark.slow
@pytest.mark.parametrize(
    "executor", [None, "aot", usmp.Executor("aot")], ids=["none", "str", "object"]
)
def test_executor(executor):
    assert workspace_bytes(build(executor=executor)) == workspace_bytes(build())


@pytest.mark.slow
def test_alignment_is_an_option_of_the_executor():
    executor = usmp.Executor(
        "aot", {"workspace-byte-alignment": 64, "constant-byte-alignment": 128}
    )
    factory = build({"use_workspace_io": True}, executor=executor)
    for pool in memory_of(factory)["pools"]:
        alignment = 64 if pool["kind"] == "workspace" else 128
        assert len(pool["buffers"]) >= 2
        assert {b["offset"] % alignment for b in pool["buffers"]} == {0}


def test_unknown_executor():
    assert message_of(executor="go") == 'unknown executor "go". Executors: aot'
    assert message_of(executor="graph").startswith('Executor("graph"): main is a C function that ')


@pytest.mark.cc
@pytest.mark.parametrize(
    "target", ["c", {"kind": "c"}, tvm.target.Target("c")], ids=["str", "dict", "object"]
)
def test_target(target):
    np.testing.assert_allclose(result_of(build(target=target)), attention(), rtol=1e-5)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("cuda", 'target "cuda" is not supported: code is made for CPUs only; write "c" or "llvm"'),
        (
            "nope",
            'unknown target "nope". Targets: c, llvm, and names of accelerators beside one of '
            'these, as in "accel,c"',
        ),
        (None, 'unknown target "None". Targets: c, llvm'),
        (
            "cortex-m4",
            'unknown target "cortex-m4": it is a core, so write the target as "c -mcpu=cortex-m4"',
        ),
    ],
)
def test_wrong_target(target, message):
    assert message_of(target=target) == message


def test_module_without_main():
    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.build(tvm.IRModule())
    assert str(error.value) == 'the module has no Relax function "main"'


def test_a_module_of_primfuncs_is_answered_with_what_takes_it():
    main = tvm.tirx.PrimFunc([], tvm.tirx.Evaluate(0))
    with pytest.raises(usmp.UnsupportedModelError, match="which has the C"):
        usmp.build(tvm.IRModule({"__tvm_main__": main}))
    with pytest.raises(ValueError, match="the module has no memory plan; run "):
        usmp.AOTExecutorFactoryModule(tvm.IRModule({"__tvm_main__": main}), "net")
    targeted = tvm.IRModule({"__tvm_main__": main.with_attr("target", tvm.target.Target("c"))})
    planned = usmp.transform.UnifiedStaticMemoryPlanner()(targeted)
    factory = usmp.AOTExecutorFactoryModule(planned, "net")
    with pytest.raises(ValueError, match="__tvm_main__ has no attributes input_tensors and output"):
        factory.header  # noqa: B018


def test_what_tvm_cannot_lower_is_an_unsupported_model():
    x = tvm.relax.Var("x", tvm.relax.TensorType((4,), "float32"))
    builder = tvm.relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            zero = tvm.relax.const(0, "int32")
            y = tvm.relax.op.divide(tvm.relax.const(1, "int32"), zero)
            result = builder.emit_output(builder.emit(y))
        builder.emit_func_output(result)
    with pytest.raises(usmp.UnsupportedModelError, match="TVM") as error:
        usmp.build(builder.get())
    assert str(error.value) == (
        'TVM cannot lower operator relax.divide (result lv: R.Tensor((), dtype="int32")): '
        "Divide by zero"
    )


@pytest.mark.slow
def test_factory_gives_the_planned_module():
    factory = build()
    assert isinstance(factory.ir_mod, tvm.IRModule)
    assert "__tvm_main__" in [v.name_hint for v in factory.ir_mod.functions]
    assert str(factory.memory_plan.algorithm) == "auto"


@pytest.mark.slow
@pytest.mark.cc
def test_factory_runs_without_being_built_again():
    factory = build()
    result_of(factory)
    loaded = factory._loaded
    result_of(factory)
    assert factory._loaded is loaded
    assert factory.load() is not loaded


@pytest.mark.cc
def test_inputs_without_names():
    with pytest.raises(TypeError, match=r'inputs are arrays by name, \{"x": array\}, not ndarray'):
        build().run(X)


@pytest.mark.slow
@pytest.mark.cc
def test_exported_archive_runs(tmp_path):
    factory = build(module_name="net")
    factory.export_model_library_format(tmp_path / "net.tar")
    (value,) = usmp.load_archive(tmp_path / "net.tar").load().run({"x": X}).values()
    np.testing.assert_array_equal(value, result_of(factory))


@pytest.mark.slow
def test_input_module_is_not_changed():
    before = Attention.script()
    build({"use_workspace_io": True})
    assert Attention.script() == before


@pytest.fixture
def algorithm():
    """Register a function as the algorithm "mine"."""

    def register(function) -> dict[str, str]:
        tvm_ffi.register_global_func("tir.usmp.algo.mine", function, override=True)
        return {"custom_algorithm": "mine"}

    yield register
    tvm_ffi.registry.remove_global_func("tir.usmp.algo.mine")


@pytest.mark.cc
def test_algorithm_of_the_user(algorithm):
    seen = []

    def stack_from_the_top(buffers, memory_pressure):
        seen.append(memory_pressure)
        plan, ends = {}, {}
        for buffer in buffers:
            pool = buffer.pool_candidates[0]
            end = ends.get(pool.pool_name, 8192)
            offset = (end - buffer.size_bytes) // buffer.alignment * buffer.alignment
            plan[buffer], ends[pool.pool_name] = PoolAllocation(pool, offset), offset
        return plan

    factory = build(algorithm(stack_from_the_top))
    assert memory_of(factory)["algorithm"] == "mine"
    assert seen == [memory_of(factory)["memory_pressure_bytes"]]
    assert {p["size_bytes"] for p in memory_of(factory)["pools"]} == {8192}
    np.testing.assert_allclose(result_of(factory), attention(), rtol=1e-5)


@pytest.mark.slow
def test_algorithm_that_overlaps_live_buffers_is_refused(algorithm):
    message = message_of(
        options=algorithm(
            lambda buffers, _: {b: PoolAllocation(b.pool_candidates[0], 0) for b in buffers}
        )
    )
    assert message.startswith("USMP plan check: buffers ")
    assert message.endswith("but they conflict")


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (lambda buffers: None, ", not NoneType"),
        (lambda buffers: 3, ", not int"),
        (lambda buffers: list(buffers), ", not Array"),
        (lambda buffers: {b: 0 for b in buffers}, ", but its map has BufferInfo to int"),
        (lambda buffers: {"a": 0}, ", but its map has str to int"),
    ],
    ids=["none", "number", "list", "offsets", "strings"],
)
def test_algorithm_that_returns_no_plan(algorithm, answer, got):
    assert message_of(options=algorithm(lambda buffers, _: answer(buffers))) == (
        "The custom USMP algorithm : mine must return a map of BufferInfo to PoolAllocation" + got
    )


@pytest.mark.slow
def test_algorithm_that_forgets_a_buffer(algorithm):
    message = message_of(options=algorithm(lambda buffers, _: {}))
    assert message.startswith('USMP plan check: buffer "')
    assert message.endswith('" has no allocation')


@pytest.mark.slow
def test_error_in_the_algorithm_of_the_user_reaches_the_user(algorithm):
    def broken(buffers, memory_pressure):
        raise KeyError("in my algorithm")

    assert "in my algorithm" in message_of(KeyError, options=algorithm(broken))
