"""Metadata is added in front of a file whose bytes stay."""

from __future__ import annotations

import struct

import pytest
import tflite

from support.tflite_builder import Graph, options, write_model
from usmp.frontend.tflite.file import add_metadata
from usmp.frontend.tflite.file.add_metadata import metadata_names, with_metadata
from usmp.support.errors import UnsupportedModelError


def model():
    graph = Graph()
    x = graph.input((1, 4), "float32", name="x")
    y = graph.tensor((1, 4), "float32", name="y")
    graph.operator("ADD", [x, x], [y], options("AddOptions"))
    graph.output(y)
    return write_model(graph)


def entries(content):
    """Names of the metadata, with the bytes of their buffers."""
    root = tflite.Model.GetRootAsModel(content, 0)
    found = {}
    for number in range(root.MetadataLength()):
        entry = root.Metadata(number)
        buffer = root.Buffers(entry.Buffer())
        found[entry.Name().decode()] = bytes(buffer.DataAsNumpy()) if buffer.DataLength() else b""
    return found


def test_all_else_stays_as_it_is():
    old = model()
    new = with_metadata(old, "plan", b"12345")
    assert new.endswith(old)
    assert len(new) % 4 == len(old) % 4
    assert (len(new) - len(old)) % 16 == 0
    assert new[4:8] == b"TFL3"
    assert entries(new) == {"plan": b"12345"}
    before, after = (tflite.Model.GetRootAsModel(each, 0) for each in (old, new))
    assert after.Version() == before.Version() == 3
    assert after.BuffersLength() == before.BuffersLength() + 1
    assert (after.SubgraphsLength(), after.OperatorCodesLength()) == (1, 1)
    graph = after.Subgraphs(0)
    assert [graph.Tensors(n).Name() for n in range(2)] == [b"x", b"y"]
    assert after.OperatorCodes(0).BuiltinCode() == tflite.BuiltinOperator.ADD


def test_entries_of_other_names_stay_and_those_of_the_name_are_replaced():
    content = model()
    for name, data in (("a", b"1"), ("b", b""), ("c", bytes(100)), ("a", b"2" * 33)):
        content = with_metadata(content, name, data)
        root = tflite.Model.GetRootAsModel(content, 0)
        assert metadata_names(root)[-1] == name
    assert entries(content) == {"a": b"2" * 33, "b": b"", "c": bytes(100)}
    assert metadata_names(root) == ["b", "c", "a"]


@pytest.mark.parametrize("length", range(0, 33, 3))
def test_data_of_buffers_is_aligned(length):
    data = b"\x07" * length + b"end"
    content = with_metadata(model(), "n" * length, data)
    assert content.index(data) % 16 == 0
    assert entries(content) == {"n" * length: data}
    # The length stands in front, and a text ends with a zero.
    at = content.index(data)
    assert struct.unpack_from("<I", content, at - 4) == (len(data),)
    assert content[at + len(data)] == 0


def test_files_that_are_too_large(monkeypatch):
    size = len(with_metadata(model(), "plan", b"12345"))
    monkeypatch.setattr(add_metadata, "_LARGEST_BYTES", size)
    assert len(with_metadata(model(), "plan", b"12345")) == size
    monkeypatch.setattr(add_metadata, "_LARGEST_BYTES", size - 1)
    with pytest.raises(UnsupportedModelError, match=f"would have {size} bytes"):
        with_metadata(model(), "plan", b"12345")


def test_fields_of_a_newer_schema():
    content = with_metadata(model(), "plan", b"1")
    for known, last in ((7, None), (6, 6), (4, 6)):
        patch = pytest.MonkeyPatch()
        patch.setattr(add_metadata, "_KNOWN_FIELDS", known)
        if last is None:
            assert with_metadata(content, "other", b"2")
        else:
            with pytest.raises(UnsupportedModelError, match=f"has field {last} of a newer schema"):
                with_metadata(content, "other", b"2")
        patch.undo()


def test_damaged_metadata():
    content = bytearray(with_metadata(model(), "plan", b"1"))
    root = tflite.Model.GetRootAsModel(content, 0)
    slot = root._tab.Offset(4 + 2 * 6)
    first = root._tab.Vector(slot)
    damaged = bytearray(content)
    struct.pack_into("<I", damaged, first, 1 << 30)
    with pytest.raises(UnsupportedModelError, match="an entry of its metadata points outside it"):
        metadata_names(tflite.Model.GetRootAsModel(damaged, 0))
    count = len(content) // 4
    struct.pack_into("<I", content, first - 4, count + 1)
    with pytest.raises(
        UnsupportedModelError, match=f"{count + 1} metadata in {len(content)} bytes"
    ):
        metadata_names(tflite.Model.GetRootAsModel(content, 0))
