"""Rows and windows of entries that share one memory with others."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.c_program import SANITIZERS
from support.device_programs import STRICT, self_test
from support.quantized_models.masks import image_to_mask
from support.small_digits import small_convolutions
from usmp.device.device_files import device_files
from usmp.device.golden_runs import golden_run
from usmp.frontend.tflite.importer import import_tflite
from usmp.names import POISON_DEAD_BYTES
from usmp.runtime.write_files import write_files

pytestmark = pytest.mark.usefixtures("one_session")

MODELS = {"mask": image_to_mask(), "fast": small_convolutions(), "slow": small_convolutions()}
STREAMS = {
    "mask": {"stream_inputs": ["t0"], "stream_outputs": ["t9"]},
    "fast": {"stream_inputs": ["image:hop=4"]},
    "slow": {"stream_inputs": ["image:hop=2"]},
}
TOGETHER = {
    "stream_inputs": ["t0", "fast.image:hop=4", "slow.image:hop=2"],
    "stream_outputs": ["mask.t9"],
}


def built(models, config, **arguments):
    if isinstance(models, dict):
        models = {name: import_tflite(content) for name, content in models.items()}
    with PassContext(config={f"tir.usmp.{name}": value for name, value in config.items()}):
        return usmp.build(models, **arguments)


@cache
def alone(name):
    return built(import_tflite(MODELS[name]), STREAMS[name])


@cache
def together(**options):
    return built(MODELS, TOGETHER | options)


def test_only_tensors_that_are_named_have_callbacks():
    interface = together().interface
    by_rows = {e.name: [str(t.info.name) for t in e.by_rows] for e in interface.entries}
    assert by_rows == {"mask": ["t0", "t9"], "fast": [], "slow": []}
    windows = {e.name: [t.window and t.window.hop for t in e.inputs] for e in interface.entries}
    assert windows == {"mask": [None], "fast": [4], "slow": [2]}


def test_windows_of_each_entry_are_states_of_its_own():
    known = {name: alone(name).metadata["modules"]["default"] for name in ("fast", "slow")}
    module = together().metadata["modules"]["default"]
    windows = module["windows"]
    assert windows["inputs"] == {
        "fast.image": {"rows": 4, "window_rows": 8},
        "slow.image": {"rows": 2, "window_rows": 8},
    }
    for count in ("state_size_bytes", "macs", "window_macs"):
        assert windows[count] == sum(one["windows"][count] for one in known.values())
    taken = {
        main["entry"]: main["state_size_bytes"] for main in module["memory"]["functions"]["main"]
    }
    states = {n: m["memory"]["ram"]["state_size_bytes"] for n, m in known.items()}
    assert taken == {"mask": 0, **states}
    names = [name for main in module["memory"]["functions"]["main"] for name in main["states"]]
    assert len(set(names)) == len(names)


def test_memory_is_that_of_the_largest_entry_and_the_states():
    ram = together().metadata["modules"]["default"]["memory"]["ram"]
    each = [
        alone(name).metadata["modules"]["default"]["memory"]["ram"]["workspace_size_bytes"]
        for name in MODELS
    ]
    states = ram["state_size_bytes"]
    assert max(each) < ram["workspace_size_bytes"] <= max(each) + states + 16


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("io", [False, True])
def test_entries_in_turn_compute_what_each_computes_alone(tmp_path, io):
    """In C, row by row, with what is dead overwritten."""
    factory = together(use_workspace_io=io, debug=POISON_DEAD_BYTES)
    factory.export_model_library_format(tmp_path / "model.tar")
    archive = usmp.load_archive(tmp_path / "model.tar")
    hosts = {name: alone(name).load() for name in MODELS}
    interfaces = factory.load().entries
    generator, runs = np.random.default_rng(0), []
    for name in ("fast", "mask", "slow", "slow", "fast", "mask", "slow"):
        inputs = {
            tensor: generator.integers(-128, 128, info["shape"], info["dtype"])
            for tensor, info in interfaces[name].inputs.items()
        }
        outputs = hosts[name].run(inputs)
        runs.append(golden_run(name, interfaces[name], inputs, {}, outputs))
    test = tmp_path / "test"
    write_files(device_files(archive.module(), archive.code(), runs), test)
    assert self_test(tmp_path / "model.tar", test, tmp_path, (*STRICT, *SANITIZERS)) == 0


@pytest.mark.slow
@pytest.mark.cc
def test_the_reference_build_slides_the_windows_of_each_entry():
    factory = built(MODELS, TOGETHER, reference=True)
    reference, host = factory.load_reference(), factory.load()
    generator = np.random.default_rng(1)
    for name in ("slow", "fast", "mask", "slow", "fast"):
        inputs = {
            tensor: generator.integers(-128, 128, info["shape"], info["dtype"])
            for tensor, info in host.entries[name].inputs.items()
        }
        expected, outputs = reference.run(inputs, name), host.run(inputs, name)
        for output, array in outputs.items():
            np.testing.assert_array_equal(array, expected[output])


@pytest.mark.parametrize(
    ("streams", "message"),
    [
        (
            ["image"],
            'tir.usmp.stream_inputs: several entries have an input "image"; give one of '
            "fast.image, slow.image",
        ),
        (
            ["image:hop=2"],
            'tir.usmp.stream_inputs: several entries have an input "image"; give one of '
            "fast.image, slow.image",
        ),
        (
            ["mask.image"],
            'tir.usmp.stream_inputs: no entry has an input "mask.image". Did you mean '
            '"fast.image"? Inputs: mask.t0, fast.image, slow.image',
        ),
        (
            ["fast.image", "fast.image:hop=2"],
            'tir.usmp.stream_inputs: input "fast.image" is given row by row ("fast.image"), and as '
            'the new rows of a window ("fast.image:hop=2"); give one of the two',
        ),
    ],
)
def test_names_that_are_no_tensor_of_one_entry(streams, message):
    with pytest.raises(ValueError) as error:
        built(MODELS, {"stream_inputs": streams})
    assert str(error.value) == message
