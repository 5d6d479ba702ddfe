"""Offsets for the arena of TFLite Micro, as metadata of a file that is otherwise the same."""

from __future__ import annotations

import re
import struct
from random import Random

import numpy as np
import pytest
import tflite

from conftest import ROOT
from support.byte_mutations import mutated_bytes
from support.lazy import lazy
from support.litert import Reference
from support.micro import CannotRunError, Micro
from support.quantized_models import CATALOG
from support.tflite_builder import Graph, write_model
from support.tflite_file import one_operator_model
from support.tflite_tables import with_schema
from usmp.frontend.tflite.arena.arena_tensors import arena_tensors
from usmp.frontend.tflite.arena.offline_plan import METADATA_NAME, plan_offline
from usmp.support.errors import UnsupportedModelError
from usmp_solver import solve

schema = lazy("ai_edge_litert.schema_py_generated")

ROWS = re.findall(
    r"^\| (\w+) \| (\d+) \| (\d+) \| ([\d.]+) \|$",
    (ROOT / "docs/other-viewers.md").read_text(),
    re.MULTILINE,
)
"""Of the table of arenas: a model, the bytes of its head without and with offsets, their ratio."""


SMALL = [model for model in CATALOG if not model.name.startswith("variable_")][::25]


def planned(content: bytes) -> bytes:
    return plan_offline(content, solve).content


def metadata(content: bytes) -> list[tuple[str, bytes]]:
    model = tflite.Model.GetRootAsModel(content, 0)
    entries = [model.Metadata(number) for number in range(model.MetadataLength())]
    return [
        (entry.Name().decode(), model.Buffers(entry.Buffer()).DataAsNumpy().tobytes())
        for entry in entries
    ]


def offsets(content: bytes) -> list[int]:
    """What the metadata says of each tensor."""
    (data,) = (data for name, data in metadata(content) if name == METADATA_NAME)
    version, subgraphs, count, *numbers = struct.unpack(f"<{len(data) // 4}i", data)
    assert (version, subgraphs, count) == (1, 1, len(numbers))
    return numbers


def chain(*bytes_of: int) -> Graph:
    """Int8 tensors, each made of the one before."""
    graph = Graph()
    graph.input((bytes_of[0],), "int8")
    for size in bytes_of[1:]:
        graph.tensor((size,), "int8")
        last = len(graph.tensors) - 1
        graph.operator("RELU", [last - 1], [last])
    graph.output(len(graph.tensors) - 1)
    return graph


def tensors(graph: Graph) -> list[tuple[int, int, int, int]]:
    model = tflite.Model.GetRootAsModel(write_model(graph), 0)
    return [(t.index, t.size_bytes, t.start, t.stop) for t in arena_tensors(model)]


def test_tensors_are_alive_from_where_they_are_written_to_where_they_are_read_last():
    assert tensors(chain(5, 16, 17, 1)) == [
        (0, 16, 0, 2),
        (1, 16, 1, 3),
        (2, 32, 2, 4),
        (3, 16, 3, 4),
    ]


def test_outputs_are_alive_to_the_end_and_inputs_from_the_start():
    graph = chain(1, 1, 1)
    unread = graph.input((1,), "int8")
    graph.output(1, unread)
    assert tensors(graph) == [(0, 16, 0, 2), (1, 16, 1, 3), (2, 16, 2, 3), (3, 16, 0, 3)]


def test_an_output_that_nothing_reads_is_alive_while_it_is_written():
    graph = chain(1, 1, 1)
    other = graph.tensor((1,), "int8")
    graph.operator("SPLIT", [0], [other])
    assert tensors(graph)[-1] == (3, 16, 3, 4)


def test_constants_variables_and_types_without_a_known_size_have_no_offset():
    graph = chain(4, 4)
    graph.constant(np.zeros(4, np.int8))
    graph.tensor((4,), "int8", is_variable=True)
    graph.tensor((4,), "int4")
    graph.tensor((0,), "int8")
    assert offsets(planned(write_model(graph))) == [0, 16, -1, -1, -1, -1]


def test_the_rest_of_the_file_stays(digits_model):
    def add_fields(model):
        entry, signature, named = schema.MetadataT(), schema.SignatureDefT(), schema.TensorMapT()
        entry.name, entry.buffer = "other", 1
        named.name, named.tensorIndex = "x", 0
        signature.signatureKey, signature.inputs = "serving_default", [named]
        model.metadata, model.metadataBuffer = [*model.metadata, entry], [1, 2]
        model.description, model.signatureDefs = "of digits", [signature]

    before = with_schema(digits_model.read_bytes(), add_fields)
    after = planned(before)
    assert after.endswith(before) and (len(after) - len(before)) % 16 == 0
    old, new = (schema.ModelT.InitFromPackedBuf(content, 0) for content in (before, after))
    assert len(new.buffers) == len(old.buffers) + 1
    assert new.metadata.pop().buffer == len(new.buffers) - 1
    new.buffers.pop()
    assert plain(new) == plain(old)


def plain(table: object) -> object:
    """A table of the object API as values that can be compared."""
    if isinstance(table, list):
        return [plain(each) for each in table]
    if isinstance(table, np.ndarray):
        return table.tolist()
    if hasattr(table, "__dict__"):
        return {name: plain(value) for name, value in vars(table).items()}
    return table


def test_a_file_without_metadata_and_without_other_fields():
    content = planned(one_operator_model())
    assert [name for name, _ in metadata(content)] == [METADATA_NAME]
    inputs = {"x": np.array([[-1, 2, -3, 4]], np.float32)}
    assert Reference(content).run(inputs)["y"].tolist() == [[0, 2, 0, 4]]
    assert Micro(content).run(inputs)["y"].tolist() == [[0, 2, 0, 4]]


def test_the_offsets_lie_at_a_multiple_of_16_bytes(digits_model):
    content = planned(digits_model.read_bytes())
    (data,) = (data for name, data in metadata(content) if name == METADATA_NAME)
    assert content.index(data) % 16 == 0


def test_a_plan_takes_the_place_of_another(digits_model):
    content = digits_model.read_bytes()
    once = plan_offline(content, solve)
    other = plan_offline(once.content, lambda problem: solve(problem, algorithm="no_sharing"))
    again = plan_offline(other.content, solve)
    assert [once.replaced, other.replaced, again.replaced] == [False, True, True]
    assert metadata(again.content) == metadata(once.content) != metadata(other.content)


def test_tflite_micro_puts_tensors_where_the_metadata_says(digits_model):
    content = digits_model.read_bytes()
    inputs = Micro(content).random_inputs(0)
    apart = plan_offline(content, lambda problem: solve(problem, algorithm="no_sharing"))
    heads = {}
    for name, file in (("own", content), ("apart", apart.content), ("auto", planned(content))):
        model = Micro(file)
        model.run(inputs)
        heads[name] = model.head_bytes()
    assert heads == {"own": 2048, "apart": apart.solution.peak, "auto": 1536}


@pytest.mark.parametrize(("name", "own", "with_offsets", "ratio"), ROWS)
def test_outputs_are_the_same_in_no_larger_an_arena(
    shared_model, digits_model, name, own, with_offsets, ratio
):
    path = digits_model if name == digits_model.stem else shared_model(name)
    content = path.read_bytes()
    models = [Micro(content), Micro(planned(content))]
    for seed in range(2):
        inputs = models[0].random_inputs(seed)
        expected, actual = (model.run(inputs) for model in models)
        assert {n: v.tobytes() for n, v in actual.items()} == {
            n: v.tobytes() for n, v in expected.items()
        }
    heads = [model.head_bytes() for model in models]
    assert heads == [int(own), int(with_offsets)] and heads[1] <= heads[0]
    assert f"{heads[1] / heads[0]:.2f}" == ratio


@pytest.mark.models
@pytest.mark.parametrize("model", SMALL, ids=lambda model: model.name)
def test_outputs_of_small_models_are_the_same(model):
    content = model.make()
    try:
        models = [Micro(content), Micro(planned(content))]
        inputs = models[0].random_inputs(0)
        expected, actual = (each.run(inputs) for each in models)
    except CannotRunError as error:
        pytest.skip(str(error))
    assert {n: v.tobytes() for n, v in actual.items()} == {
        n: v.tobytes() for n, v in expected.items()
    }
    assert models[1].head_bytes() <= models[0].head_bytes()


def test_the_table_has_the_models():
    names = {f"mlperf_{name}_int8" for name in ("ad01", "kws", "resnet8", "strww", "vww_96")}
    assert names | {"mcunet_vww_int8", "tflm_hello_world_int8"} <= {row[0] for row in ROWS}


def test_a_model_that_tflite_micro_cannot_run_is_the_same_to_litert(shared_model):
    content = shared_model("coral_split_concat").read_bytes()
    reference = Reference(content)
    inputs = reference.random_inputs(0)
    expected, actual = reference.run(inputs), Reference(planned(content)).run(inputs)
    assert {n: v.tobytes() for n, v in actual.items()} == {
        n: v.tobytes() for n, v in expected.items()
    }


def custom_with_plan() -> bytes:
    graph = Graph()
    graph.input((1,), "int8")
    graph.tensor((1,), "int8")
    graph.operator("CUSTOM", [0], [1], custom_code="ethos-u")
    graph.output(1)
    return planned(write_model(graph))


def with_outside_buffer() -> bytes:
    def change(model):
        model.buffers[-1].offset, model.buffers[-1].size = 64, 4

    return with_schema(write_model(chain(1, 1)), change)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            lambda: one_operator_model(subgraphs=2),
            "the model has 2 subgraphs; versions of TFLite Micro",
        ),
        (with_outside_buffer, "buffer 0 lies outside the tables of the file"),
        (custom_with_plan, 'a plan already, and the custom operator "ethos-u"'),
        (lambda: b"....TFL3", "damaged or truncated"),
    ],
)
def test_refused(content, message):
    with pytest.raises(UnsupportedModelError, match=re.escape(message)):
        planned(content())


@pytest.mark.slow
def test_damaged_files_are_refused_or_planned(digits_model):
    content = planned(digits_model.read_bytes())
    generator = Random(0)
    refused = 0
    for _ in range(150):
        damaged = mutated_bytes(content, range(1100), generator)
        try:
            planned(damaged)
        except UnsupportedModelError:
            refused += 1
    assert 20 < refused < 150
