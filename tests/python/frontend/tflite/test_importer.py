"""TFLite files, whole and damaged. The last test reads many mutated copies of a real model."""

from __future__ import annotations

import time
from random import Random

import numpy as np
import pytest
import tflite

import usmp
from support.byte_mutations import mutated_bytes
from support.levels import number
from support.tflite_file import one_operator_model
from support.tflite_mutations import structure_of
from support.tflite_refusals import message_of
from usmp.frontend.tflite.importer import import_tflite

MUTANTS = number(60, 2000)
BUILT = number(1, 3)
LONGEST_SECONDS = 10


@pytest.fixture
def content(digits_model) -> bytes:
    return digits_model.read_bytes()


@pytest.mark.cc
def test_imported_model_computes_what_the_file_says():
    factory = usmp.build(import_tflite(one_operator_model()))
    x = np.array([[-1, 2, -3, 4]], np.float32)
    np.testing.assert_array_equal(factory.run({"x": x})["y"], [[0, 2, 0, 4]])


@pytest.mark.cc
def test_names_of_tensors_are_kept():
    mod = import_tflite(one_operator_model(names=("serving:0", 'Grüße */ "1"')))
    assert [param.name for param in mod["main"].params] == ["serving:0"]
    assert list(mod["main"].attrs["output_names"]) == ['Grüße */ "1"']
    assert usmp.build(mod).run({"serving:0": np.ones((1, 4), np.float32)}).keys() == {
        'Grüße */ "1"'
    }


def test_dynamic_batch_is_the_batch_of_the_file():
    mod = import_tflite(one_operator_model(shape=(3, 4), signature=(-1, 4)))
    assert [int(extent) for extent in mod["main"].params[0].ty.shape] == [3, 4]


def test_other_dynamic_extents_are_refused():
    assert message_of(one_operator_model(shape=(1, 4), signature=(1, -1))) == (
        'input "x" has a dynamic shape, [1, -1]; memory is planned at compile time: '
        "give the shape, with --input-shapes (in Python input_shapes), or convert the model with "
        "fixed input shapes"
    )


@pytest.mark.cc
def test_subgraphs_that_nothing_runs_are_ignored():
    factory = usmp.build(import_tflite(one_operator_model(subgraphs=2)))
    x = np.array([[-1, 2, -3, 4]], np.float32)
    np.testing.assert_array_equal(factory.run({"x": x})["y"], [[0, 2, 0, 4]])


@pytest.mark.parametrize("start", [b"", b"TFL3", b"\0\0\0\0TFL2"])
def test_another_kind_of_file(start):
    assert message_of(start + b"x").startswith("not a TFLite model: bytes 4 to 7 are b'")


@pytest.mark.parametrize("index", [2, 1000, -2])
def test_operator_that_reads_a_tensor_that_is_not_there(index):
    assert message_of(one_operator_model(input_index=index)) == (
        f"the file is damaged: operator 0 refers to tensor {index}, and there are 2"
    )


def test_operator_that_reads_what_nothing_wrote():
    assert message_of(one_operator_model(input_index=1)) == (
        'the file is damaged: operator 0 reads tensor "y", '
        "which has no content and nothing before writes it"
    )


def overwritten(content: bytes, position: int, value: bytes) -> bytes:
    return content[:position] + value + content[position + len(value) :]


def test_constant_with_too_few_bytes(content):
    graph = tflite.Model.GetRootAsModel(content, 0).Subgraphs(0)
    table = graph.Tensors(3)._tab
    shape = table.Vector(table.Offset(4))
    assert message_of(overwritten(content, shape, b"\x0b")) == (
        'the file is damaged: tensor 3 ("functional_1/probabilities_1/MatMul") of shape [11, 64] '
        "takes 704 bytes, but 640 are stored"
    )


@pytest.mark.parametrize(
    ("scale", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-0.5, "-0.5")], ids=str
)
def test_impossible_quantization_scale(content, scale, shown):
    quantization = tflite.Model.GetRootAsModel(content, 0).Subgraphs(0).Tensors(0).Quantization()
    position = quantization._tab.Vector(quantization._tab.Offset(8))
    value = np.float32(scale).tobytes()
    assert message_of(overwritten(content, position, value)) == (
        f'the file is damaged: tensor 0 ("image") has the quantization scale {shown}'
    )


def test_name_that_is_not_text(content):
    position = content.index(b"image")
    assert message_of(overwritten(content, position, b"\xff")) == (
        "the file is damaged: the name of tensor 0 is not text"
    )


def test_more_operators_than_fit_the_file(content):
    graph = tflite.Model.GetRootAsModel(content, 0).Subgraphs(0)
    position = graph._tab.Vector(graph._tab.Offset(10)) - 4
    assert message_of(overwritten(content, position, b"\xff\xff\xff\x0f")) == (
        f"the file is damaged: 268435455 operators in {len(content)} bytes"
    )


def test_truncated_at_every_hundredth_byte(content):
    for size in range(8, len(content) - 200, 100):
        assert message_of(content[:size]) == (
            "the file is damaged or truncated: an offset in it points outside its "
            f"{size} bytes; convert or copy the model again"
        )


@pytest.mark.slow
def test_mutated_models_are_imported_or_refused(content):
    positions = structure_of(content)
    refused = built = 0
    for seed in range(MUTANTS):
        damaged = mutated_bytes(content, positions, Random(seed))
        start = time.process_time()
        try:
            mod = import_tflite(damaged)
        except usmp.UnsupportedModelError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            # What still imports differs in numbers or shapes: building is slow, so only some.
            if built < BUILT and damaged != content:
                built += 1
                build_or_refuse(mod)
        assert time.process_time() - start < LONGEST_SECONDS
    assert refused > MUTANTS // 2
    assert built == BUILT


def build_or_refuse(mod) -> None:
    try:
        usmp.build(mod).files()
    except ValueError as error:
        assert str(error)
