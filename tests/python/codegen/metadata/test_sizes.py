"""What metadata.json says of symbolic sizes, and of shapes that depend on them."""

from __future__ import annotations

from types import SimpleNamespace

from tvm import tirx

from support.interface_views import entry, interface, tensor
from usmp.codegen.metadata.sizes import shape_metadata, sizes_metadata
from usmp.plain.entry_size import EntrySize

SEQ = EntrySize("seq", "seq_1", 2, None)


def test_sizes_are_said_with_their_bounds():
    assert sizes_metadata(interface(), entry("a")) == {}
    sizes = [SEQ, EntrySize("n", "n", 1, 8)]
    assert sizes_metadata(interface(), entry("a", sizes=sizes)) == {
        "sizes": {
            "seq": {"c_name": "seq_1", "min": 2, "max": None},
            "n": {"c_name": "n", "min": 1, "max": 8},
        }
    }


def test_what_pools_need_is_said_if_it_is_computed():
    computed = SimpleNamespace(as_json=lambda: {"pool": "sram"})
    said = sizes_metadata(interface(workspace_sizes=[computed]), entry("a", sizes=[SEQ]))
    assert said["workspace_sizes"] == [{"pool": "sram"}]
    assert sizes_metadata(interface(workspace_sizes=[computed]), entry("a")) == {}


def test_shapes_that_depend_on_sizes_are_said_as_expressions_and_text():
    assert shape_metadata(tensor("x")) == {}
    shape = [tirx.Var("n", "int64") * 2, tirx.IntImm("int64", 4)]
    assert shape_metadata(tensor("x", (16, 4), symbolic_shape=shape)) == {
        "symbolic_shape": [["*", "n", 2], 4],
        "symbolic_shape_text": "[n * 2, 4]",
    }
