"""Errors, options, plans, results and reports go to other processes and come back the same."""

from __future__ import annotations

import builtins
import copy
import importlib
import inspect
import io
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from types import TracebackType

import numpy as np
import pytest
import tvm
import tvm_ffi
from tblib.pickling_support import pickle_exception, pickle_traceback

import usmp
import usmp_solver
from conftest import ROOT
from support.pickled import content, copies, parts
from support.placement_graphs import graph, pool
from support.planner_contexts import planner_context
from usmp.algorithms import get_algorithm
from usmp.algorithms.registry import plan_with
from usmp.analysis import pool_usage
from usmp.boards.board import board_named
from usmp.driver.tvmc import TVMCModel, TVMCPackage, TVMCResult
from usmp.explanation import Explanation
from usmp.exploration.result import BUILT, Result
from usmp.objects import AccessEstimate, PlacedState, PlannedOperator, PoolBound, TensorInfo
from usmp.objects.buffer_problem import problem_of
from usmp.objects.dynamic_allocation import DynamicAllocation
from usmp.objects.extern_kernel import ExternKernel, KernelArgument, SafeDistance
from usmp.objects.ffi_object import FFIObject, ValueObject
from usmp.objects.placed_state import StateTensor
from usmp.objects.symbolic_size import SymbolicSize
from usmp.ops.accelerator_function import (
    AcceleratorFunction,
    AcceleratorOperator,
    AcceleratorParameter,
)
from usmp.planning.options import planning_options
from usmp.report import map_of_metadata
from usmp.runtime import ArenaExhausted, GrowthPolicy, StorageGroup
from usmp.runtime.archive import archive_of
from usmp.support.not_copied import NotCopied
from usmp_solver.formats.csv_cells import CsvError

pytestmark = pytest.mark.usefixtures("digits_session")

PUBLIC = (
    "usmp",
    "usmp.algorithms",
    "usmp.analysis",
    "usmp.driver.tvmc",
    "usmp.objects",
    "usmp.report",
    "usmp.runtime",
    "usmp_solver",
)
DIGITS = ROOT / "examples/digits/digits_int8.tflite"
SOURCES = ROOT / "python"
CLASS = re.compile(r"^( *)class (\w+)(?:\(([^)]*)\))?:", re.MULTILINE)
DATA = ("usmp.objects.", "usmp.ops.accelerator_function")
ABSTRACT = {FFIObject, ValueObject, usmp.PoolInfo}


@cache
def classes_in_sources():
    """Module and name of each class, with the names in its bases."""
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        for _, name, bases in CLASS.findall(path.read_text()):
            found.append((module.removesuffix(".__init__"), name, {*re.findall(r"\w+", bases)}))
    return found


def exception_classes():
    found = classes_in_sources()
    names = {
        name
        for name, value in vars(builtins).items()
        if inspect.isclass(value) and issubclass(value, BaseException)
    }
    while more := {name for _, name, bases in found if bases & names} - names:
        names |= more
    return [(module, name) for module, name, bases in found if bases & names]


def csv_error():
    with pytest.raises(CsvError) as raised:
        usmp_solver.parse_csv("mine.csv", b"id,lower,upper,size\na,0,1,x\n")
    return raised.value


def misfit():
    with pytest.raises(usmp.DoesNotFitError) as raised:
        get_algorithm("auto")(list(graph({"a": 20}, {}, [pool("p", 16)]).values()), 0)
    return raised.value


OWN_CONSTRUCTOR = {
    "ArenaExhausted": lambda: ArenaExhausted("the arena has 4 bytes", 8),
    "CsvError": csv_error,
    "DoesNotFitError": misfit,
}


def copied_by_dask(error):
    """Copy an exception as Dask does, which calls `__new__` of the class without a constructor."""
    written = io.BytesIO()
    pickler = pickle.Pickler(written)
    pickler.dispatch_table = {type(error): pickle_exception, TracebackType: pickle_traceback}
    pickler.dump(error)
    return pickle.loads(written.getvalue())


def comes_back(module, name):
    """Return whether all copies of an exception are as it was."""
    error_class = getattr(importlib.import_module(module), name)
    make = OWN_CONSTRUCTOR.get(name, lambda: error_class("text", "{more}"))
    error = make()
    error.__notes__ = ["of mine"]
    error.where = "elsewhere"
    return all(
        type(copied) is error_class
        and content(copied) == content(error)
        and (copied.__notes__, copied.where) == (["of mine"], "elsewhere")
        for copied in (*copies(error), copied_by_dask(error))
    )


def test_exceptions_come_back_as_they_were():
    found = exception_classes()
    assert {"UnsupportedModelError", "DoesNotFitError", "NotAllowedError"} <= {
        name for _, name in found
    }
    assert [each for each in found if not comes_back(*each)] == []


@pytest.mark.slow
@pytest.mark.process
def test_errors_and_plans_come_out_of_a_pool_of_processes():
    """An error that cannot be loaded would end the pool."""
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        for limit in (16, 70):
            buffers = graph({"a": 30, "b": 40}, {"a": ["b"]}, [pool("p", limit)])
            planned = processes.submit(plan_with, "auto", list(buffers.values()), 0)
            if limit == 16:
                with pytest.raises(usmp.DoesNotFitError) as raised:
                    planned.result()
                assert (raised.value.needed_bytes, raised.value.available_bytes) == (70, 16)
            else:
                assert sorted(place.byte_offset for place in planned.result().values()) in (
                    [0, 30],
                    [0, 40],
                )


def classes():
    """The classes of all modules but those that need ExecuTorch, and that end their process."""
    for name in sorted({module for module, _, _ in classes_in_sources()}):
        if "executorch" not in name and not name.endswith("__main__"):
            own = filter(inspect.isclass, list(vars(importlib.import_module(name)).values()))
            yield from (each for each in own if each.__module__ == name)


def of_a_build(folder):
    """A build, and what there is to know of it."""
    factory = usmp.build(DIGITS, board="mps2-an386", reference=False)
    archive = archive_of(factory.files())
    (module,) = archive.modules.values()
    usage = pool_usage(factory.memory_plan)
    factory.export_model_library_format(folder / "module.tar")
    package = TVMCPackage(folder / "module.tar", folder=TemporaryDirectory(dir=folder))
    return [
        *(factory, factory.interface, factory.metadata, factory.summary(), factory.memory_plan),
        *(
            archive,
            package,
            usage,
            map_of_metadata(module.metadata),
            Explanation(factory, {"ram": {}}, Result(BUILT)),
        ),
    ]


def of_a_problem(_):
    pools = [pool("fast", 64), pool("slow", 64)]
    buffers = graph({"a": 30, "b": 40, "c": 50}, {"a": ["b"], "b": ["c"]}, pools, 8)
    buffers["c"].set_overlaps({buffers["b"]: 3})
    plan = get_algorithm("auto")(list(buffers.values()), 0)
    solution = usmp_solver.solve(problem_of(list(buffers.values())))
    statements = {buffer: tvm.tirx.Evaluate(buffer.size_bytes) for buffer in buffers.values()}
    analysis = usmp.BufferInfoAnalysis(statements, 30, {"fast": 30})
    return [buffers, plan, *plan.values(), solution, analysis, usmp.objects.LiveRange(1, 2)]


TENSOR = tvm.runtime.tensor(np.arange(3, dtype="int8"))
WORKSPACE = usmp.WorkspacePoolInfo(
    "sram", ["c", "accel"], usmp.PoolInfoProperties(64, target_burst_bytes={"c": 4})
)
CONSTANTS = usmp.ConstantPoolInfo("flash", ["c"], [usmp.ConstantInfo("weights", 16, TENSOR)])
PARTS = [
    usmp.WorkspaceMemoryPools([WORKSPACE]),
    usmp.ConstantMemoryPools([CONSTANTS]),
    usmp.PoolInfoProperties(64, is_internal=True),
    usmp.AllocatedPoolInfo(WORKSPACE, 32, 1),
    usmp.Executor("aot", {"workspace-byte-alignment": 8}),
    usmp.Runtime("crt", {"system-lib": False}),
    usmp.StateInfo("count", 0, TENSOR),
    usmp.StateLayout("m", (PlacedState("count", [3], "int8", "sram", 0, 3),)),
    PlacedState("count", [3], "int8", "sram", 0, 3),
    StateTensor("count", [3], "int8"),
    TensorInfo("x", [3], "int8", 0.5, 3),
    SymbolicSize("n", 1, 8),
    DynamicAllocation("t", "main", "n * 4", "no bound"),
    ExternKernel("f", [KernelArgument(n, 4) for n in "xy"], [SafeDistance(0, 1, 4)]),
    AccessEstimate(9, 9, 9, 9, 1000, {"sram": 9}),
    PlannedOperator("main", 0, 1, ["x"], ["y"]),
    PoolBound(3, True),
    AcceleratorFunction(
        *("f", "accel", "accel.dense", [AcceleratorParameter("x", "input", [3], "int8")]),
        [AcceleratorOperator("dense", ["x"], ["y"], {"units": 3, "bias": TENSOR}, {})],
    ),
    StorageGroup("t", 8),
    TVMCResult({"y": np.arange(3)}, [0.25, 0.5]),
    TVMCModel(tvm.IRModule({}), {"weights": np.arange(3)}),
    GrowthPolicy(),
    planning_options(planner_context({"algorithm": "exact", "time_budget": "1s"})),
    board_named("mps2-an386"),
]
SAMPLES = {
    "parts": lambda _: PARTS,
    "problem": of_a_problem,
    "build": of_a_build,
    "misfit": lambda _: [misfit().does_not_fit],
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in SAMPLES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_data_comes_back_as_it_was(samples, name):
    for sample in samples[name]:
        for copied in copies(sample):
            assert type(copied) is type(sample)
            assert content(copied) == content(sample)


@pytest.mark.slow
def test_every_public_class_has_a_sample(samples):
    """Dataclasses too have one below; what refuses to be copied has one in the test of that."""
    public = {
        value
        for package in map(importlib.import_module, PUBLIC)
        for value in map(package.__dict__.get, package.__all__)
        if inspect.isclass(value) and not issubclass(value, (BaseException, Enum))
    }
    ours = {
        each
        for each in classes()
        if issubclass(each, tvm_ffi.Object) and each.__module__.startswith(DATA)
    }
    known = {type(part) for part in parts(list(samples.values()))}
    needed = {each for each in public | ours if not issubclass(each, NotCopied)}
    assert {each for each in needed - known if not is_plain_dataclass(each)} == ABSTRACT


def is_plain_dataclass(each):
    """Objects of tvm-ffi may have the fields of a dataclass."""
    return is_dataclass(each) and not issubclass(each, FFIObject)


def test_dataclasses_come_back_as_they_were():
    tried = set()
    for each in classes():
        if is_plain_dataclass(each) and not issubclass(each, NotCopied):
            one = object.__new__(each)
            for field in fields(each):
                object.__setattr__(one, field.name, f"its {field.name}")
            copied = pickle.loads(pickle.dumps(one))
            assert type(copied) is each
            for field in fields(each):
                assert getattr(copied, field.name) == f"its {field.name}"
            tried.add(each.__name__)
    assert {"PlanningOptions", "Explanation", "Row", "MemoryMap", "Solution"} <= tried


def test_what_is_of_this_process_is_refused():
    refusing = {each for each in classes() if issubclass(each, NotCopied)} - {NotCopied}
    assert {each.__name__ for each in refusing} >= {
        *("HostModule", "HostProfiler", "ManagedModule", "MemoryPlanner"),
        *("ReferenceModule", "SafeOverlap"),
    }
    for each in refusing:
        for refused in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match=f"^{each.__name__} cannot be .* owns .*; [a-z]+ "):
                refused(object.__new__(each))


@pytest.mark.slow
def test_a_copy_of_a_build_is_the_same_build(samples):
    factory = samples["build"][0]
    copied = pickle.loads(pickle.dumps(factory))
    assert copied.files() == factory.files()
    assert copied.summary() == factory.summary()
