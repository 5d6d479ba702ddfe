"""The operators of a compiled model as a table and as files, also of names that do harm."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console

from usmp.report import operators_csv, operators_json, print_operators
from usmp.support.model_operators import is_quantizer, names, title_names, titles

TENSOR = {"dtype": "int8", "shape": [1, 25, 5, 64]}


def operator(entry: str, made_from: list[int], live: int) -> dict:
    return {
        "entry": entry,
        "functions": ["conv2d"],
        "steps": [{"kind": "conv2d"}],
        "inputs": [TENSOR],
        "outputs": [TENSOR],
        "macs": 7,
        "model_operators": made_from,
        "start": 0,
        "stop": 3,
        "live_bytes": {"sram": live, "dtcm": 1},
        "weights_size_bytes": 5,
        "buffers": {"read": ["a"], "written": ["b"]},
    }


def model_operator(index: int, type: str, read: list[str], gives: str) -> dict:
    outputs = [{"name": gives, **TENSOR}]
    return {"entry": "main", "index": index, "type": type, "inputs": read, "outputs": outputs}


def memory(*entries: str, **pool: object) -> dict:
    mains = [{"entry": entry} for entry in entries]
    return {"functions": {"main": mains}, "pools": [{"name": "sram", **pool}]}


METADATA = {
    "model_name": "net",
    "model_operators": [
        model_operator(0, "=CONV\x1b[2J", ["x"], "inside"),
        model_operator(1, "ADD", ["inside", "x"], "y"),
    ],
    "operators": [operator("main", [0, 1], 40), operator("main", [], 3)],
    "memory": memory("main", kind="workspace", peak_operator=0),
}


def table(metadata: dict) -> list[str]:
    text = io.StringIO()
    print_operators(metadata, Console(file=text, width=100, color_system=None))
    return [" ".join(line.split()) for line in text.getvalue().splitlines()]


def test_table():
    lines = table(METADATA)
    assert "0 0 =CONV\\x1b[2J 25x5x64 7 5 41*" in lines
    assert "1 ADD" in lines
    # What it was made from is not known.
    assert "1 conv2d 25x5x64 7 5 4" in lines
    assert "all 14 10" in lines
    assert any(line.startswith("* the peak of a pool. Weights and live bytes") for line in lines)


def test_table_of_an_archive_of_before():
    earlier = {key: METADATA["operators"][0][key] for key in ("entry", "steps", "outputs")}
    lines = table({"operators": [earlier], "memory": memory("main")})
    assert "0 conv2d 25x5x64 ?" in lines
    assert not any("peak" in line for line in lines)


@pytest.mark.parametrize("show", [print_operators, operators_csv, operators_json])
def test_an_archive_without_operators_is_refused_in_a_sentence(show):
    with pytest.raises(ValueError, match="net: the plan does not say which operators it is about"):
        show({"model_name": "net", "memory": memory("main")})


def test_table_of_several_entries():
    two = [operator("encode", [0], 2), operator("[b]step", [1], 3)]
    both = memory("encode", "[b]step")
    lines = table({**METADATA, "operators": two, "memory": both})
    assert "1 [b]step 1 ADD 25x5x64 7 5 4" in lines
    # One of them may compute nothing at run time; its name may do harm.
    left = {**model_operator(5, "[b]MUL:smile:", ["x"], "z"), "entry": "[b]step"}
    module = {**METADATA, "operators": two[:1], "memory": both}
    lines = table({**module, "model_operators": [METADATA["model_operators"][0], left]})
    assert lines[-1] == "Not computed at run time in entry [b]step: 5 [b]MUL:smile:."


def test_csv():
    (row, _) = csv.DictReader(io.StringIO(operators_csv(METADATA)))
    assert row == {
        "operator": "0",
        "entry": "main",
        "model_operators": "0 =CONV\\x1b[2J; 1 ADD",
        "functions": "conv2d",
        "inputs": "x",
        "outputs": "y",
        "shapes": "25x5x64",
        "macs": "7",
        "weight_bytes": "5",
        "live_bytes": "sram:40 dtcm:1",
        "start": "0",
        "stop": "3",
        "read": "a",
        "written": "b",
        "accelerators": "",
    }


ON_ACCELERATOR = {**operator("main", [1], 9), "accelerators": ["npu"]}


def test_a_column_names_the_targets_if_accelerators_run_operators():
    lines = table({**METADATA, "operators": [operator("main", [0], 40), ON_ACCELERATOR]})
    assert "operator of the model runs on gives MACs weights live bytes" in lines
    assert "0 0 =CONV\\x1b[2J c 25x5x64 7 5 41*" in lines
    assert "1 1 ADD npu 25x5x64 7 5 10" in lines
    assert "all 14 10" in lines
    assert not any("runs on" in line for line in table(METADATA))


def test_accelerators_in_csv():
    (row,) = csv.DictReader(io.StringIO(operators_csv({**METADATA, "operators": [ON_ACCELERATOR]})))
    assert row["accelerators"] == "npu"


def test_a_total_of_unknown_counts_is_a_lower_bound():
    unknown = {key: value for key, value in ON_ACCELERATOR.items() if key != "macs"}
    assert "all at least 7 10" in table(
        {**METADATA, "operators": [operator("main", [0], 40), unknown]}
    )
    assert "all 5" in table({**METADATA, "operators": [unknown]})


def test_operators_of_several_subgraphs():
    inner = [{**model_operator(n, "ADD", ["x"], "y"), "graph": 2} for n in range(3)]
    table_of_file = [*METADATA["model_operators"], *inner]
    runs = [operator("main", [1, 2], 40), operator("main", [2, 3, 4], 3)]
    module = {**METADATA, "model_operators": table_of_file, "operators": runs}
    lines = table(module)
    assert "0 1 ADD 25x5x64 7 5 41*" in lines
    assert "0 ADD of subgraph 2" in lines
    (first, _) = csv.DictReader(io.StringIO(operators_csv(module)))
    assert first["model_operators"] == "1 ADD; 0 ADD of subgraph 2"


def test_titles_say_of_which_subgraph_operators_are():
    inner = [{**model_operator(n, "ADD", ["x"], "y"), "graph": 2} for n in range(3)]
    outer = model_operator(7, "MUL", ["x"], "y")
    assert names([outer, *inner[:2]]) == "7 MUL; 0 ADD, 1 ADD of subgraph 2"
    assert titles(inner) == "operators 0 ADD to 2 ADD of subgraph 2 (25x5x64)"
    assert titles([outer], "step\x1b") == "operator 7 MUL (25x5x64) in entry step\\x1b"


QDQ = ["DequantizeLinear", "DequantizeLinear", "Conv", "Relu", "QuantizeLinear"]


def test_quantizers_name_a_statement_last():
    nodes = [model_operator(n, kind, [], f"t{n}") for n, kind in enumerate(QDQ)]
    runs = [operator("main", [2, 3, 0, 1, 4], 40), operator("main", [4, 0], 40)]
    lines = table({**METADATA, "model_operators": nodes, "operators": runs})
    (start,) = [n for n, line in enumerate(lines) if line.startswith("0 2 Conv ")]
    assert lines[start + 1 : start + 4] == [
        "3 Relu",
        "0, 1 DequantizeLinear",
        "4 QuantizeLinear",
    ]
    assert lines[start + 4].startswith("1 4 QuantizeLinear ")
    assert lines[start + 5] == "0 DequantizeLinear"


def test_titles_have_no_quantizers_beside_others():
    nodes = [model_operator(n, kind, [], "y") for n, kind in enumerate(QDQ)]
    assert titles([*nodes[2:], *nodes[:2]]) == "operators 2 Conv, 3 Relu (25x5x64)"
    assert titles(nodes[3:]) == "operator 3 Relu (25x5x64)"
    assert titles([nodes[0], nodes[4]]) == (
        "operators 0 DequantizeLinear, 4 QuantizeLinear (25x5x64)"
    )
    unknown = {**nodes[2], "outputs": [{"name": "y", "dtype": "unknown", "shape": []}]}
    assert titles([unknown]) == "operator 2 Conv"
    # A run goes on over the quantizers in it.
    again = [model_operator(5 + n, kind, [], "y") for n, kind in enumerate(QDQ)]
    assert title_names([*nodes, *again]) == "2 Conv to 8 Relu"
    assert title_names([*nodes, *again[1:]]) == "2 Conv, 3 Relu, 7 Conv, 8 Relu"


def test_quantizers_of_all_formats():
    kinds = ["QUANTIZE", "com.microsoft.DequantizeLinear", "DynamicQuantizeLinear"]
    kinds += [
        f"quantized_decomposed.{name}"
        for name in ("quantize_per_tensor.default", "dequantize_per_channel.default")
    ]
    assert all(map(is_quantizer, kinds))
    others = ["com.microsoft.DynamicQuantizeMatMul", "FAKE_QUANT", "com.microsoft.QLinearAdd"]
    assert not any(map(is_quantizer, others))
