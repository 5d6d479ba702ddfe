"""What `models/model.json` may say."""

from __future__ import annotations

import json

import pytest

from support.lazy import lazy
from usmp.support.errors import UnsupportedModelError

program = lazy("usmp.frontend.pytorch.pt2.program")

META = {
    "dtype": 7,
    "sizes": [{"as_int": 2}, {"as_expr": {"expr_str": "s0", "hint": {"as_int": 4}}}],
    "requires_grad": False,
    "device": {"type": "cpu", "index": None},
    "strides": [{"as_int": 4}, {"as_int": 1}],
    "storage_offset": {"as_int": 0},
    "layout": 7,
}
TENSOR = {"as_tensor": {"name": "x"}}
NODE = {
    "target": "torch.ops.aten.add.Tensor",
    "inputs": [
        {"name": "self", "arg": TENSOR, "kind": 1},
        {"name": "", "arg": {"as_float": 0.25}, "kind": None},
        {"name": "device", "arg": {"as_device": {"type": "cpu", "index": 0}}, "kind": 2},
        {"name": "layout", "arg": {"as_layout": 7}, "kind": 0},
        {"name": "names", "arg": {"as_strings": ["a b", "~" * 1000]}, "kind": 1},
    ],
    "outputs": [{"as_tensor": {"name": "y"}}],
    "metadata": {},
    "is_hop_single_tensor_return": None,
}
GRAPH = {
    "inputs": [TENSOR],
    "outputs": [{"as_tensor": {"name": "y"}}],
    "nodes": [NODE],
    "tensor_values": {"x": META},
    "sym_int_values": {"n": {"as_int": 3}},
    "sym_bool_values": {"b": {"as_bool": True}},
    "sym_float_values": {"f": {"as_float": 0.5}},
    "is_single_tensor_return": False,
    "custom_obj_values": {},
}
TUPLE = json.dumps([1, {"type": "builtins.tuple", "context": "null", "children_spec": []}])
CALL = {"inputs": [], "outputs": [], "in_spec": TUPLE, "out_spec": TUPLE, "forward_arg_names": None}
WHOLE = {
    "graph_module": {
        "graph": GRAPH,
        "signature": {
            "input_specs": [
                {"parameter": {"arg": {"name": "p"}, "parameter_name": "layers.0.weight"}},
                {"constant_input": {"name": "c", "value": {"as_none": True}}},
            ],
            "output_specs": [{"user_output": {"arg": TENSOR}}],
        },
        "module_call_graph": [{"fqn": "", "signature": CALL}],
        "metadata": {},
        "treespec_namedtuple_fields": {},
    },
    "opset_version": {"aten": 10},
    "range_constraints": {"s0": {"min_val": 2, "max_val": None}},
    "schema_version": {"major": 8, "minor": 5},
    "verifiers": ["ATEN", "TRAINING", ""],
    "torch_version": "2.13.0+cpu",
    "guards_code": [],
}


def changed(value, path, new):
    """A copy with another value at a path of keys and indices."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]] if path[1:] else None, path[1:], new)
    return copy


def test_a_program_passes_as_it_is():
    assert program.PROGRAM(WHOLE, "f") == WHOLE


def test_what_compiling_does_not_need_is_left_out():
    found = WHOLE
    for path in (["metadata"], ["treespec_namedtuple_fields"], ["graph", "nodes", 0, "metadata"]):
        found = changed(found, ["graph_module", *path], {"stack": "x"})
    found = changed(found, ["guards_code"], ["exit()"])
    calls = [{"fqn": "layers", "signature": "any"}, {"fqn": "", "signature": CALL}, 5]
    found = changed(found, ["graph_module", "module_call_graph"], calls)
    assert program.PROGRAM(found, "f") == WHOLE


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("tensor_values x layout", 6),
        ("tensor_values x layout", True),
        ("tensor_values x device index", 1),
        ("tensor_values x device index", False),
        ("tensor_values x device type", "CPU:0"),
        ("tensor_values x device type", ""),
        ("tensor_values x requires_grad", 0),
        ("tensor_values x sizes", [2]),
        ("nodes 0 target", "torch.os.system"),
        ("nodes 0 inputs 0 kind", 3),
        ("nodes 0 inputs 0 kind", -1),
        ("nodes 0 inputs 0 name", "a b"),
        ("nodes 0 inputs 0 arg", {"as_custom_obj": {}}),
        ("nodes 0 inputs 3 arg", {"as_layout": 8}),
        ("nodes 0 inputs 4 arg", {"as_strings": ["~" * 1001]}),
        ("nodes 0 inputs 4 arg", {"as_strings": ["a\n"]}),
        ("nodes 0 is_hop_single_tensor_return", 1),
        ("custom_obj_values", {"x": {}}),
    ],
)
def test_graphs_that_are_refused(path, value):
    keys = [int(key) if key.isdigit() else key for key in path.split()]
    with pytest.raises(UnsupportedModelError, match=r"f\."):
        program.GRAPH(changed(GRAPH, keys, value), "f")


def test_tensors_of_other_devices():
    with pytest.raises(UnsupportedModelError, match='has tensors on the device "cuda"; move'):
        program.GRAPH(changed(GRAPH, ["tensor_values", "x", "device", "type"], "cuda"), "f")


def test_graphs_inside_graphs_are_checked():
    inner = {"name": "body", "graph": GRAPH}
    found = changed(GRAPH, ["nodes", 0, "inputs", 0, "arg"], {"as_graph": inner})
    assert program.GRAPH(found, "f") == found
    bad = changed(found, ["nodes", 0, "inputs", 0, "arg", "as_graph", "graph", "nodes"], [5])
    with pytest.raises(UnsupportedModelError, match=r"as_graph\.graph\.nodes\[0\] is 5"):
        program.GRAPH(bad, "f")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["graph_module", "module_call_graph"], {}, "not a list"),
        (["graph_module", "module_call_graph"], [{"fqn": "", "signature": 5}], "signature is 5"),
        (["verifiers"], ["EDGE"], "not one of '', 'ATEN', 'TRAINING'"),
        (["torch_version"], "2\n", "some signs"),
        (["range_constraints"], {"s0 + 1": {}}, "an extent of an input is s0 [+] 1, which is"),
        (["range_constraints"], {"exit()": {}}, "exit"),
        (["range_constraints"], {"x": {}}, "a key of f.range_constraints is 'x'"),
        (["other"], 5, "which is not known"),
    ],
)
def test_programs_that_are_refused(path, value, message):
    with pytest.raises(UnsupportedModelError, match=message):
        program.PROGRAM(changed(WHOLE, path, value), "f")


@pytest.mark.parametrize("name", ["weight", "features.0.weight", "a-b.c_d"])
def test_names_of_parameters(name):
    assert program.PATH(name, "f") == name
    for other in (f"{name}.", f".{name}", f"{name}..x", f"{name}/x", f"{name} "):
        with pytest.raises(UnsupportedModelError):
            program.PATH(other, "f")
