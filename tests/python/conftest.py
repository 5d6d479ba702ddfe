"""What many tests need: models, a C compiler, the reference runtime."""

from __future__ import annotations

import gc
import inspect
import linecache
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from usmp.driver.without_torch import without_torch

# Together with PyTorch it takes seconds more to load, which few tests need.
with without_torch():
    # Until all tests are collected: what is made until then stays.
    gc.disable()
    from tvm import relax, tirx
    from tvm.script import relax as R

from support import (
    compile_cache,
    compiler_guard,
    costs,
    kernel_collection,
    levels,
    quick_decompositions,
    unit_guard,
)
from support.lazy import LOADED, loaded_libraries
from support.markers import MARKERS, mark
from usmp.driver import tvmc

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("USMP_SHARED", ROOT.parent / "shared"))


def _stack(context: int = 1) -> list[inspect.FrameInfo]:
    """Return what `inspect.stack` does, with one line of source of the nearest callers only.

    TVM's decorators call it for each function, and read no line of others. Python would look for
    the module of each frame among all that are loaded.
    """
    frame = inspect.currentframe()
    found: list[inspect.FrameInfo] = []
    while frame is not None and (frame := frame.f_back) is not None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        lines = [linecache.getline(file, line, frame.f_globals)] if len(found) < 4 else None
        index = None if lines is None else 0
        found.append(inspect.FrameInfo(frame, file, line, frame.f_code.co_name, lines, index))
    return found


inspect.stack = _stack


def pytest_addoption(parser: pytest.Parser) -> None:
    levels.add_options(parser)
    costs.add_options(parser)


def pytest_report_header() -> str:
    return levels.header()


def pytest_configure(config: pytest.Config) -> None:
    levels.use_options(config)
    if config.getoption("--costs") is not None:
        config.pluginmanager.register(costs.Costs(config.getoption("--costs")))
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if named and not any(a.startswith("-m") for a in config.invocation_params.args):
        # Files that are named run as a whole, not only what runs by default.
        config.option.markexpr = ""
    unit_guard.refuse_files(SHARED)
    compiler_guard.refuse_other_compilers()
    if hasattr(config, "cache"):
        compile_cache.use_folder(config.cache.mkdir("compiled"))
    caching = ExitStack()
    caching.enter_context(compile_cache.product_uses_cache())
    config.add_cleanup(caching.close)
    kernel_collection.start()
    # Or each process that a test starts compiles all modules of the checkout anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # What a shell starts in the background ignores SIGINT, and with nohup SIGHUP. What tests start
    # and signal inherits that, but no handler.
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, lambda *_: None),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)
    # The module `readline`, which pytest loads, tells workers of a terminal of 80 columns, which a
    # shell does not.
    for size in ("COLUMNS", "LINES"):
        os.environ.pop(size, None)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        compile_cache.remove_oldest()
    unit_guard.remove_scripts()
    kernel_collection.stop()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        # A process that only hands tests to workers collects none.
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark(config, items)
    levels.deselect_slow(config, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    session.config.stash[LOADED] = loaded_libraries()
    # Garbage collection need not look at all tests and libraries each time.
    gc.collect()
    gc.freeze()
    # Nor so often; as in the process of `tvmc`.
    gc.set_threshold(50_000)
    # Nor all that other tests keep, when a command fails.
    tvmc.gc = SimpleNamespace(collect=lambda: gc.collect(1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    kernel_collection.collection().test = item.nodeid
    quick_decompositions.use()
    with unit_guard.guarded() if item.get_closest_marker("unit") else nullcontext():
        result = yield
    kernel_collection.report(item, is_last=nextitem is None)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    result = yield
    unit_guard.check_calls()
    return result


@pytest.fixture
def digits_model() -> Path:
    """The model of examples/digits."""
    return ROOT / "examples/digits/digits_int8.tflite"


@pytest.fixture
def digits_images() -> tuple[np.ndarray, np.ndarray]:
    """The held-out images of examples/digits, and their labels."""
    with np.load(ROOT / "examples/digits/test_images.npz") as data:
        return data["images"], data["labels"]


@pytest.fixture
def shared_model():
    """The path of a model of the public collection that lies beside the checkout."""

    def find(name: str, ending: str = ".tflite") -> Path:
        path = SHARED / "models" / f"{name}{ending}"
        if not path.exists():
            pytest.skip(f"{path} is not there; set USMP_SHARED to the folder that has models/")
        return path

    return find


@pytest.fixture(scope="module")
def one_session() -> Iterator[None]:
    """Let the builds of a file of tests share what they import, lower and plan alike."""
    from support.shared_builds import SharedBuilds

    with SharedBuilds().opened():
        yield


@pytest.fixture(scope="module")
def digits_session() -> Iterator[None]:
    """Let the builds of the model of examples/digits share this with those of other files."""
    from support.shared_builds import shared_by_process

    with shared_by_process().opened():
        yield


@pytest.fixture(scope="session")
def model():
    """A Relax module of one function: `model(lambda b, x, ...: result, ("x", shape, dtype), ...)`.

    The block builder `b` emits what is not the result.
    """

    def make(body, *inputs):
        builder = relax.BlockBuilder()
        params = [relax.Var(name, R.Tensor(shape, dtype)) for name, shape, dtype in inputs]
        with builder.function("main", params):
            with builder.dataflow():
                result = builder.emit_output(body(builder, *params))
            builder.emit_func_output(result)
        return builder.get()

    return make


@pytest.fixture(scope="session")
def expected():
    """What TVM's own compiler computes for a Relax module: a list of arrays."""

    from support.relax_vm import compiled

    return lambda mod, *inputs: compiled(mod)(*inputs)


@pytest.fixture(scope="session")
def random_array():
    generator = np.random.default_rng(0)

    def make(*shape, dtype="float32"):
        if dtype == "float32":
            return generator.normal(size=shape).astype(dtype)
        return generator.integers(-100, 100, shape).astype(dtype)

    return make


@pytest.fixture(scope="session")
def operators():
    """The operator PrimFuncs of a module by name, without the main function."""

    def find(mod):
        return {
            v.name_hint: f
            for v, f in mod.functions.items()
            if isinstance(f, tirx.PrimFunc) and v.name_hint not in ("main", "__tvm_main__")
        }

    return find
