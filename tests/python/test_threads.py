"""Threads that import, build, plan, emit and run at the same time get what they get alone."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tvm_ffi
from tvm.ir.transform import PassContext
from tvm.target import Target

import usmp
from support import levels
from support.lazy import lazy
from support.onnx_models import Graph, perceptron
from support.planner_contexts import planner_context
from support.relax_models import PARAMS, Attention, X, attention
from support.small_digits import small_digits
from usmp.driver import tvmc
from usmp.driver.native_log import silenced_native_log
from usmp.runtime import HostModule

importer = lazy("usmp.frontend.onnx.importer")

Job = Callable[[], object]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """Model files: two that can be compiled, one with an operator that is refused, one cut off."""
    graph = Graph()
    graph.node("Unique", graph.input("x", [4]), outputs=["y"])
    contents = {
        "digits.tflite": small_digits(),
        "perceptron.onnx": perceptron(),
        "refused.onnx": graph.model("y"),
        "cut.tflite": small_digits()[:500],
    }
    folder = tmp_path_factory.mktemp("models")
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in contents}


@pytest.fixture
def often_interrupted() -> Iterator[None]:
    """Threads change far more often than Python lets them."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def pool(size_bytes: int) -> usmp.WorkspaceMemoryPools:
    properties = usmp.PoolInfoProperties(size_hint_bytes=size_bytes)
    return usmp.WorkspaceMemoryPools([usmp.WorkspacePoolInfo("sram", [Target("c")], properties)])


def archive(model: object, options: dict | None = None, **arguments) -> object:
    """The files of a build, or the error that ends it; options are those of this thread."""
    with planner_context(options or {}):
        try:
            return usmp.build(model, **arguments).files()
        except ValueError as error:
            return type(error), str(error)


def jobs(files: dict[str, Path]) -> dict[str, Job]:
    digits, float_model = files["digits.tflite"], files["perceptron.onnx"]
    builds = {
        "relax": (Attention, {}, {"params": PARAMS}),
        "relax, greedy": (
            Attention,
            {"algorithm": "greedy_by_size", "use_workspace_io": True},
            {"params": PARAMS, "module_name": "other"},
        ),
        "relax, llvm": (Attention, {}, {"params": PARAMS, "target": "llvm"}),
        "relax, reference": (Attention, {}, {"params": PARAMS, "reference": True}),
        "tflite": (digits, {}, {}),
        "tflite, core": (digits, {}, {"target": "c -mcpu=cortex-m55", "module_name": "m55"}),
        "tflite, board": (digits, {}, {"board": "mps2-an500", "reference": False}),
        "tflite, misfit": (
            digits,
            {"use_workspace_io": True},
            {"workspace_memory_pools": pool(16)},
        ),
        "onnx": (float_model, {"disabled_pass": ("OverlapInputsAndOutputs",), "code": "small"}, {}),
        "two models": ({"a": digits, "b": float_model}, {}, {}),
        "refused": (files["refused.onnx"], {}, {}),
        "cut off": (files["cut.tflite"], {}, {}),
    }
    return {
        name: lambda model=model, options=options, arguments=arguments: archive(
            model, options, **arguments
        )
        for name, (model, options, arguments) in builds.items()
    } | {
        "tvmc": lambda: tvmc.compile(tvmc.load(digits)).archive.files,
        "imported": lambda: usmp.import_model(float_model).script(),
        "explained": lambda: usmp.explain(digits, suggestions=False).to_json(),
        "passes": lambda: str(usmp.get_aot_pipeline()(usmp.import_model(digits))),
    }


@pytest.mark.slow
def test_builds_in_four_threads_are_those_of_builds_alone(files, often_interrupted):
    works = jobs(files)
    alone = {name: work() for name, work in works.items()}
    errors = {name: made[0] for name, made in alone.items() if isinstance(made, tuple)}
    assert {name: kind.__name__ for name, kind in errors.items()} == {
        "tflite, misfit": "DoesNotFitError",
        "refused": "UnsupportedModelError",
        "cut off": "UnsupportedModelError",
    }
    with ThreadPoolExecutor(4) as threads:
        together = dict(zip(works, threads.map(lambda work: work(), works.values()), strict=True))
    assert [name for name in works if together[name] != alone[name]] == []


@pytest.mark.slow
def test_one_factory_emits_once_for_all_threads(files, often_interrupted):
    """While other threads emit with a reference build, which reads the same properties."""
    factory = usmp.build(files["digits.tflite"])
    with ThreadPoolExecutor(4) as threads:
        referenced = threads.submit(usmp.build, files["digits.tflite"], reference=True)
        sources = [threads.submit(lambda: factory.sources) for _ in range(3)]
        assert {id(each.result(60)) for each in sources} == {id(factory.sources)}
        assert referenced.result(60).sources == factory.sources


@pytest.mark.slow
def test_a_coroutine_builds_in_another_thread_with_its_own_options(files):
    def build() -> str:
        return str(usmp.build(files["digits.tflite"]).memory_plan.algorithm)

    def build_greedily() -> str:
        with PassContext(config={"tir.usmp.algorithm": "greedy_by_size"}):
            return build()

    async def both() -> list[str]:
        return await asyncio.gather(asyncio.to_thread(build_greedily), asyncio.to_thread(build))

    assert asyncio.run(both()) == ["greedy_by_size", "auto"]


@pytest.mark.slow
def test_a_custom_algorithm_builds_again_in_its_thread(files):
    inner = []

    def place(buffers, memory_pressure):
        with PassContext():
            inner.append(usmp.build(files["perceptron.onnx"]).ram_bytes)
        return tvm_ffi.get_global_func("tir.usmp.algo.greedy_by_size")(buffers, memory_pressure)

    tvm_ffi.register_global_func("tir.usmp.algo.builds_again", place)
    try:
        files_made = archive(files["digits.tflite"], {"custom_algorithm": "builds_again"})
    finally:
        tvm_ffi.remove_global_func("tir.usmp.algo.builds_again")
    assert isinstance(files_made, dict)
    assert set(inner) == {usmp.build(files["perceptron.onnx"]).ram_bytes}


@pytest.mark.slow
@pytest.mark.cc
def test_threads_run_one_module_in_turn():
    factory = usmp.build(Attention, params=PARAMS)
    inputs = [X * scale for scale in np.linspace(-3, 3, 8, dtype=np.float32)]
    expected = [attention(x) for x in inputs]

    def run(number: int) -> HostModule:
        for _ in range(levels.number(60, 300)):
            (value,) = factory.run({"x": inputs[number]}).values()
            np.testing.assert_allclose(value, expected[number], rtol=1e-5)
        return factory._loaded

    with ThreadPoolExecutor(len(inputs)) as threads:
        assert len(set(threads.map(run, range(len(inputs))))) == 1


def test_commands_in_two_threads_leave_stderr_as_it_was():
    """The second one begins when the first one has ended, and ends after it."""
    before = sys.stderr
    order, first_is_in = [], threading.Event()

    def first() -> None:
        with silenced_native_log():
            first_is_in.set()
            second_thread.start()
            second_thread.join(0.1)
            order.append("first")

    def second() -> None:
        first_is_in.wait()
        with silenced_native_log():
            order.append("second")

    number = os.fstat(2)
    first_thread, second_thread = threading.Thread(target=first), threading.Thread(target=second)
    first_thread.start()
    for thread in (first_thread, second_thread):
        thread.join(60)
    assert order == ["first", "second"]
    assert (sys.stderr, os.fstat(2)) == (before, number)


def test_imports_of_onnx_leave_stdout_alone(monkeypatch, files, capsys):
    """Other threads print while a model is imported."""
    seen = []
    check = importer._Importer._check_for_unsupported_ops
    monkeypatch.setattr(
        importer._Importer,
        "_check_for_unsupported_ops",
        lambda self, graph: seen.append(sys.stdout) or check(self, graph),
    )
    usmp.import_model(files["perceptron.onnx"])
    assert seen == [sys.stdout]
