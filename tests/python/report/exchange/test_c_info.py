"""A plan as `network_c_info.json`: what is known of ST's format, as a schema."""

from __future__ import annotations

import json

import jsonschema
import pytest

from support.exchanged_plan import metadata
from usmp.report.exchange.c_info import c_info

COUNT = {"type": "integer", "minimum": 0}
NAME = {"type": "string", "minLength": 1}


def record(**properties: object) -> dict:
    return {"type": "object", "required": list(properties), "properties": properties}


def list_of(item: object, **more: object) -> dict:
    return {"type": "array", "items": item, **more}


TENSORS = list_of(record(buffer_id=COUNT))
SCHEMA = record(
    json_schema_version={"const": "2.0"},
    environment=record(
        generated_model=record(name=NAME),
        tools=list_of(record(version=NAME, input_model=record(name=NAME, type=NAME)), minItems=1),
    ),
    memory_footprint=record(
        series={"not": {"pattern": "stm32"}},
        weights=COUNT,
        activations=COUNT,
        io=list_of(COUNT),
    ),
    memory_pools=list_of(
        record(
            id=COUNT,
            name=NAME,
            rights={"enum": ["ACC_READ", "ACC_WRITE"]},
            size_bytes=COUNT,
            used_size_bytes=COUNT,
        )
    ),
    buffers=list_of(record(id=COUNT, size_bytes=COUNT)),
    graphs=list_of(
        record(
            inputs=TENSORS,
            outputs=TENSORS,
            nodes=list_of(record(id=COUNT, name=NAME, macc=COUNT)),
        ),
        minItems=1,
    ),
)
"""What ST's model zoo reads, and what ST's documents name. With a series of STM32 the model zoo
reads the memory of ST's library too, which a plan does not know."""


@pytest.fixture
def info() -> dict:
    return json.loads(c_info(metadata()))


def test_it_is_what_readers_of_st_expect(info):
    jsonschema.validate(info, SCHEMA)


def test_sizes(info):
    assert info["memory_footprint"] == {
        "series": "unknown",
        "weights": 300,
        "activations": 216,
        "io": [64, 10],
    }
    assert info["memory_pools"] == [
        {
            "id": 0,
            "name": "sram",
            "rights": "ACC_WRITE",
            "size_bytes": 4096,
            "used_size_bytes": 216,
        },
        {"id": 1, "name": "flash", "rights": "ACC_READ", "size_bytes": 300, "used_size_bytes": 300},
    ]


def test_buffers_are_found_by_their_numbers(info):
    assert [buffer["id"] for buffer in info["buffers"]] == list(range(7))
    (graph,) = info["graphs"]
    (x,), (y,) = graph["inputs"], graph["outputs"]
    assert [info["buffers"][each["buffer_id"]]["name"] for each in (x, y)] == ["x", "y"]
    assert info["buffers"][3] == {
        "id": 3,
        "name": "u",
        "size_bytes": 128,
        "usmp": {
            "memory_pool": "sram",
            "kind": "intermediate",
            "offset_bytes": 0,
            "live_ranges": [[2, 6]],
            "shared_bytes": {metadata()["memory"]["pools"][1]["buffers"][1]["name"]: 128},
        },
    }


def test_nodes(info):
    (graph,) = info["graphs"]
    assert [(node["id"], node["name"], node["macc"]) for node in graph["nodes"]] == [
        (0, "conv", 576),
        (1, "relu", 0),
        (2, "pool_dense", 0),
    ]
    assert graph["nodes"][2]["usmp"] == {
        "entry": "net",
        "positions": [4, 9],
        "live_bytes": {"sram": 138, "flash": 300},
        "model_operators": [
            {"index": 2, "type": "Pool", "graph": 0, "outputs": ["v"]},
            {"index": 5, "type": "DENSE", "graph": 0, "outputs": ["y"]},
        ],
    }
