"""The metadata of a module of three operators, written by hand, for files for other viewers.

x (input) --conv--> t --relu, which overwrites it--> u --pool, dense--> y (output)
"""

from __future__ import annotations

from typing import Any

ODD = "t\u202e\x1b[31m"
"""A name that a terminal must not see."""


def _buffer(
    name: str,
    kind: str,
    offset: int,
    size: int,
    *live: list[int],
    function: str = "__tvm_main__",
    **shared: int,
) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "function": function,
        "offset": offset,
        "size": size,
        "alignment": 1,
        "live_ranges": list(live),
        "identical": [],
        "overlaps": {of: {"shared": bytes_, "distance": 0} for of, bytes_ in shared.items()},
    }


def _pool(name: str, kind: str, peak: int, *buffers: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "peak_bytes": peak,
        "lower_bound_bytes": peak,
        "memory_pressure_bytes": peak,
        "optimal": True,
        "live_at_peak": [],
        "size_hint_bytes": 4096 if name == "sram" else -1,
        "buffers": list(buffers),
    }


def _operator(
    function: str,
    start: int,
    stop: int,
    live: int,
    buffers: list[str],
    origin: list[int],
    **known: Any,
) -> dict[str, Any]:
    return {
        "entry": "net",
        "functions": [function],
        "start": start,
        "stop": stop,
        "live_bytes": {"sram": live, "flash": 300},
        "buffers": {"read": buffers, "written": []},
        "model_operators": origin,
        **known,
    }


def _tensor(name: str) -> dict[str, Any]:
    return {"name": name, "dtype": "int8", "shape": [1, 128]}


def metadata() -> dict[str, Any]:
    """Of the module `net`; a new copy each time."""
    return {
        "model_name": "net",
        "memory": {
            "algorithm": "auto",
            "functions": {
                "main": [
                    {
                        "entry": "net",
                        "inputs": {"x": {"size": 64}},
                        "outputs": {"y": {"size": 10}},
                        "io_size_bytes": 74,
                    }
                ]
            },
            "pools": [
                _pool(
                    "flash",
                    "constant",
                    300,
                    _buffer("weights", "constant", 0, 300, [0, 9]),
                ),
                _pool(
                    "sram",
                    "workspace",
                    216,
                    _buffer("x", "input", 128, 64, [0, 2]),
                    _buffer(ODD, "intermediate", 0, 128, [0, 4]),
                    _buffer("scratch", "intermediate", 200, 16, [1, 2], function="conv"),
                    _buffer("u", "intermediate", 0, 128, [2, 6], **{ODD: 128}),
                    _buffer("y", "output", 128, 10, [4, 9]),
                    _buffer("again", "intermediate", 192, 8, [0, 1], [5, 6]),
                ),
            ],
        },
        "operators": [
            _operator(
                "conv",
                0,
                2,
                208,
                ["x", ODD, "scratch"],
                [0],
                macs=576,
                schedules=[{"tile": "1 pixel", "instructions": 900}],
            ),
            _operator("relu", 2, 4, 256, [ODD, "u"], [1], macs=0, schedules=[{"tile": "none"}]),
            _operator("pool_dense", 4, 9, 138, ["u", "y"], [2, 3]),
        ],
        "model_operators": [
            {
                "entry": "net",
                "index": 0,
                "type": "CONV_2D",
                "inputs": ["x"],
                "outputs": [_tensor("t")],
            },
            {
                "entry": "net",
                "index": 1,
                "type": "RELU",
                "inputs": ["t"],
                "outputs": [_tensor("u")],
            },
            {
                "entry": "net",
                "index": 2,
                "type": "Pool",
                "name": "the pool",
                "inputs": ["u"],
                "outputs": [_tensor("v")],
            },
            {
                "entry": "net",
                "index": 5,
                "type": "DENSE",
                "inputs": ["v"],
                "outputs": [_tensor("y")],
            },
        ],
    }
