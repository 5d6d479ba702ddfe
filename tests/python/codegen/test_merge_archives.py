"""Several modules in one archive: what is merged, and what cannot be."""

from __future__ import annotations

import json

import pytest

from support.library_files import library_files
from usmp.codegen.build_systems.build_system_files import build_system_files
from usmp.codegen.merge_archives import merge_archives


def archive(
    name: str, prefix: str | None = None, header: str = "", entries=("main",), **files: bytes
):
    prefix = prefix or f"tvmgen_{name}"
    module = {"c_prefix": prefix, "of": name, "memory": memory(*entries)}
    metadata = {"version": 7, "modules": {name: module}}
    return {
        "metadata.json": json.dumps(metadata).encode(),
        f"codegen/host/include/{prefix}.h": header.encode(),
        f"codegen/host/src/{prefix.removeprefix('tvmgen_')}_lib0.c": name.encode(),
        **files,
    }


def memory(*entries: str) -> dict:
    return {"functions": {"main": [{"entry": entry} for entry in entries]}}


def message_of(*archives) -> str:
    with pytest.raises(ValueError) as error:
        merge_archives(archives)
    return str(error.value)


def test_files_lie_side_by_side():
    a, b = archive("a"), archive("b")
    merged = merge_archives([a, b])
    assert set(merged) == {*a, *b, *library_files("a", "b")}
    own = (a | b).keys() - {"metadata.json"}
    assert all(merged[path] == (a | b)[path] for path in own)
    assert json.loads(merged["metadata.json"]) == {
        "version": 7,
        "modules": {
            "a": {"c_prefix": "tvmgen_a", "of": "a", "memory": memory("main")},
            "b": {"c_prefix": "tvmgen_b", "of": "b", "memory": memory("main")},
        },
    }


def test_files_of_build_systems_are_those_of_all():
    a, b = (files | build_system_files(files) for files in (archive("a"), archive("b")))
    assert merge_archives([a, b]) == merge_archives([archive("a"), archive("b")])


def test_modules_keep_their_order():
    merged = merge_archives([archive("z"), archive("a"), archive("k")])
    assert list(json.loads(merged["metadata.json"])["modules"]) == ["z", "a", "k"]


def test_no_modules():
    assert message_of() == "there are no modules to export; give at least one"


def test_two_modules_of_one_name():
    assert message_of(archive("net"), archive("net")) == (
        'Multiple modules should have unique names. Two are called "net"; build one with another '
        "name"
    )


@pytest.mark.parametrize(("name", "prefix"), [("a-b", "tvmgen_a_b"), ("A_b", "tvmgen_A_b")])
def test_names_that_are_one_in_c(name, prefix):
    assert message_of(archive("a_b"), archive(name, prefix)) == (
        f'Multiple modules should have unique names. The macros of "a_b" and of "{name}" both '
        "begin with TVMGEN_A_B_; build one with another name"
    )


@pytest.mark.parametrize(
    "other", [archive("a_b"), archive("a_b", entries=["c"]), archive("A", "tvmgen_A_b")]
)
def test_entry_and_module_that_are_one_in_c(other):
    """Entry "b" of module "a" and module "a_b" both have a function `tvmgen_a_b_run`."""
    name = next(iter(json.loads(other["metadata.json"])["modules"]))
    assert message_of(archive("a", entries=["x", "b"]), other) == (
        f'Multiple modules should have unique names. The macros of "a" and of "{name}" both begin '
        "with TVMGEN_A_B_; build one with another name"
    )


def test_entries_of_two_modules_that_are_one_in_c():
    a, a_b = archive("a", entries=["x", "b_c"]), archive("a_b", entries=["y", "c"])
    assert message_of(a, a_b) == (
        'Multiple modules should have unique names. The macros of "a" and of "a_b" both begin '
        "with TVMGEN_A_B_C_; build one with another name"
    )
    merge_archives([a, archive("a_b", entries=["y", "d"])])


def test_one_function_that_two_modules_need():
    """Accelerator "b_npu" of module "a" and "npu" of "a_b"; C has one function of a name."""
    a, b = archive("a"), archive("a_b")
    for files, module in ((a, "a"), (b, "a_b")):
        metadata = json.loads(files["metadata.json"])
        functions = [{"symbol": f"tvmgen_{module}_c_main_0"}, {"symbol": "tvmgen_a_b_npu_main_0"}]
        metadata["modules"][module]["accelerator_functions"] = functions
        files["metadata.json"] = json.dumps(metadata).encode()
    merge_archives([a, archive("b")])
    assert message_of(a, b) == (
        'the modules "a" and "a_b" both need a function tvmgen_a_b_npu_main_0; build one with '
        "another name"
    )


def test_one_macro_of_two_headers():
    a = archive("a", header="#define TVMGEN_A_B_X_SIZE 4\n#define TVMGEN_A_Y 1\n")
    b = archive("a_b", header="#define TVMGEN_A_B_X_SIZE 8\n")
    assert message_of(a, b) == (
        'the headers of the modules "a" and "a_b" both define TVMGEN_A_B_X_SIZE; build one with '
        "another name"
    )


def test_macro_of_several_lines_is_compared_to_its_end():
    start = "#define TVMGEN_A_B_DATA \\\n  1, 2, \\\n  3, 4, \\\n"
    a, b = archive("a", header=start + "  5,\n"), archive("a_b", header=start + "  6,\n")
    assert message_of(a, b).startswith('the headers of the modules "a" and "a_b" both define ')
    merge_archives([a, archive("a_b", header=start + "  5,\n")])


def test_macro_of_one_value_in_two_headers():
    header = "#define TVMGEN_A_B_X_SIZE 4\n"
    merge_archives([archive("a", header=header), archive("a_b", header=header)])


def test_macros_that_are_no_modules_own_are_free():
    choice = "#if A\n#define TVMGEN_STATIC_ASSERT(x) 1\n#else\n#define TVMGEN_STATIC_ASSERT(x) 2\n"
    merge_archives([archive("a", header=choice), archive("b", header=choice + "#define A\n")])


def test_one_file_of_two_modules():
    a = archive("a", **{"project/main.c": b"a", "project/Makefile": b"same"})
    b = archive("b", **{"project/main.c": b"b", "project/Makefile": b"same"})
    assert message_of(a, b) == (
        'the modules "a" and "b" both have a file project/main.c; export one of them to an '
        "archive of its own"
    )
