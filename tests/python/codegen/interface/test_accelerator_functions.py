"""The functions of accelerators in the order of the header and of metadata.json."""

from __future__ import annotations

import json

import tvm
from tvm import tirx
from tvm.ir import GlobalVar, IRModule

from usmp.codegen.interface.accelerator_functions import accelerator_functions, plain
from usmp.objects.attributes.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.ops.accelerator_function import AcceleratorFunction


def test_they_are_in_the_order_of_their_numbers():
    """By accelerator first; the tenth one does not come before the second."""
    wanted = [("a", 0), ("a", 2), ("a", 10), ("b", 1)]
    functions = {}
    for accelerator, index in reversed(wanted):
        symbol = f"tvmgen_default_{accelerator}_main_{index}"
        stated = AcceleratorFunction(symbol, accelerator, "", [], [], index=index)
        func = tirx.PrimFunc([], tirx.Evaluate(0)).with_attr(ACCELERATOR_FUNCTION_ATTR.name, stated)
        functions[GlobalVar(f"call_{accelerator}_{index}")] = func
    found = accelerator_functions(IRModule(functions))
    assert [(str(f.accelerator), int(f.index)) for f in found] == wanted


def test_values_of_containers_are_those_of_json():
    given = tvm.ir.make_node("ir.DictAttrs", a=1, b="text", c=[1.5, None, True], d={"e": "f"})
    values = {name: plain(given[name]) for name in "abcd"}
    assert values == {"a": 1, "b": "text", "c": [1.5, None, True], "d": {"e": "f"}}
    assert type(values["b"]) is str and type(values["d"]["e"]) is str
    assert json.loads(json.dumps(values)) == values
    assert (plain(None), plain(2), plain(0.5), plain(False)) == (None, 2, 0.5, False)
