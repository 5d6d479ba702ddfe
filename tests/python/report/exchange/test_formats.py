"""Which format the ending of a name means, and what all formats do with damaged metadata."""

from __future__ import annotations

import copy
import json
from random import Random

import pytest

from support.exchanged_plan import metadata
from usmp.report.exchange import FORMATS, writer_of


def test_endings():
    assert list(FORMATS) == [
        ".perfetto.json",
        ".pickle",
        "_c_info.json",
        ".live_bytes.node_data.json",
        ".output_bytes.node_data.json",
        ".output_offset.node_data.json",
        ".macs.node_data.json",
        ".instructions.node_data.json",
    ]
    for ending, writer in FORMATS.items():
        assert writer_of(f"folder/net{ending.upper()}") is writer
    assert [writer_of(path) for path in ("net.json", "perfetto.json", "net.pickle.html")] == [
        None
    ] * 3


@pytest.mark.parametrize("ending", FORMATS)
def test_the_same_plan_gives_the_same_bytes(ending):
    content = FORMATS[ending](metadata())
    assert content == FORMATS[ending](json.loads(json.dumps(metadata())))


DAMAGES = (None, True, -1, 1 << 63, 1.5, "text", [], {}, [[3, 2]], ["a"])


def places(value: object, path: tuple = ()) -> list[tuple]:
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(place for key, each in inside for place in places(each, (*path, key)))]


@pytest.mark.parametrize("ending", FORMATS)
def test_damaged_metadata_is_refused_by_a_value_error_or_written(ending):
    generator, whole = Random(0), metadata()
    paths = places(whole)[1:]
    refused = 0
    for _ in range(150):
        module = copy.deepcopy(whole)
        *outer, key = generator.choice(paths)
        inside = module
        for step in outer:
            inside = inside[step]
        inside[key] = generator.choice(DAMAGES)
        try:
            FORMATS[ending](module)
        except ValueError:
            refused += 1
    assert 30 < refused < 150


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_wrong_is_said_as_by_the_memory_map(ending):
    module = metadata()
    module["memory"]["pools"][1]["buffers"][0]["size"] = -1
    message = '^the metadata of the module is damaged: "size" is no number of 0 or more'
    with pytest.raises(ValueError, match=message):
        FORMATS[ending](module)
