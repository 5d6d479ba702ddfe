"""Archives in which bytes or fields are others: they are read and can be shown, or are refused."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from random import Random

import pytest
from rich.console import Console

import usmp
from support.archives import attention_archive, message_of, relu_archive, write_tar
from support.byte_mutations import mutated_bytes
from support.entry_models import entry_model
from support.hostile_names import check_terminal
from support.json_mutations import mutated_fields
from support.levels import number
from usmp.report import plan_csv, print_memory_summary
from usmp.runtime import ArchiveError


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    return relu_archive(tmp_path_factory.mktemp("archive"))


@pytest.mark.slow
def test_truncated(archive, tmp_path):
    content = archive.read_bytes()
    end_of_data = len(content.rstrip(b"\0"))
    for size in range(0, end_of_data, 97):
        path = tmp_path / "model.tar"
        path.write_bytes(content[:size])
        assert message_of(path) in (
            "not a tar archive, or a damaged one",
            "the archive is truncated; copy or compile it again",
        )


def test_mutated_archive_is_read_or_refused(archive, tmp_path):
    """What is read can be shown, too."""
    good, generator = archive.read_bytes(), Random(0)
    start = good.index(b'{\n  "version"')
    positions = [*range(512), *range(start, start + 2000), *range(start - 512, start)]
    path = tmp_path / "model.tar"
    refused, count = 0, number(100, 400)
    for _ in range(count):
        path.write_bytes(mutated_bytes(good, positions, generator))
        try:
            loaded = usmp.load_archive(path)
        except ArchiveError as error:
            assert "\n" not in str(error)
            refused += 1
            continue
        for module in loaded.modules.values():
            print_memory_summary(module.metadata, Console(file=io.StringIO()))
    assert count / 4 < refused < count


@pytest.mark.slow
def test_mutated_metadata_is_read_or_refused(tmp_path):
    """In its fields; what is read can be shown, in each way."""
    archive, _ = attention_archive(tmp_path, "one", "two", use_workspace_io=True)
    random, path = Random(0), tmp_path / "model.tar"
    refused, count = 0, number(80, 400)
    for _ in range(count):
        content = json.dumps(mutated_fields(archive.metadata, random)).encode()
        write_tar(path, {**archive.files, "metadata.json": content})
        try:
            loaded = usmp.load_archive(path)
        except ArchiveError as error:
            assert str(error).isprintable()
            assert len(str(error)) < 1000
            refused += 1
            continue
        for module in loaded.modules.values():
            assert any(pool.buffers for pool in module.pools)
            text = io.StringIO()
            print_memory_summary(module.metadata, Console(file=text))
            text.write(plan_csv(module.metadata))
            check_terminal(text.getvalue())
    assert count / 2 < refused < 0.95 * count


@pytest.mark.slow
def test_mutated_metadata_of_entries_is_read_or_refused(tmp_path):
    factory = usmp.build(entry_model(), concurrent=[("tell", "plain")])
    files, random, refused, count = factory.files(), Random(0), 0, number(50, 200)
    for _ in range(count):
        metadata = copy.deepcopy(factory.metadata)
        functions = metadata["modules"]["default"]["memory"]["functions"]
        functions["main"] = mutated_fields(functions["main"], random)
        content = json.dumps(metadata).encode()
        path = write_tar(tmp_path / "model.tar", {**files, "metadata.json": content})
        try:
            loaded = usmp.load_archive(path)
        except ArchiveError as error:
            assert str(error).isprintable()
            refused += 1
            continue
        text = io.StringIO()
        print_memory_summary(loaded.module().metadata, Console(file=text))
        check_terminal(text.getvalue())
        assert list(loaded.module().entries) == ["learn", "tell", "plain"]
    assert count / 2 < refused < count


@pytest.mark.slow
def test_mutated_headers_of_tar(archive, tmp_path):
    """Some damage needs a checksum that is right."""
    good, generator = archive.read_bytes(), Random(1)
    files = usmp.load_archive(archive).files
    path, refused, count = tmp_path / "model.tar", 0, number(100, 300)
    for _ in range(count):
        block = bytearray(good[:512])
        for _ in range(generator.choice([1, 3])):
            block[generator.randrange(512)] = generator.randrange(256)
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        path.write_bytes(bytes(block) + good[512:])
        try:
            loaded = usmp.load_archive(path)
        except ArchiveError:
            refused += 1
            continue
        # All files after the first one are what they were.
        assert len(files.items() - loaded.files.items()) <= 1
    assert 0 < refused < count
