"""C files of the user: when they are needed, and what cannot be one."""

from __future__ import annotations

import pytest

from usmp.runtime.c_compiler import BuildError
from usmp.runtime.extra_sources import check_sources, compile_sources, include_sources

ACCELERATED = {
    "accelerator_functions": [{"symbol": "npu_a"}, {"symbol": "npu_b"}],
    "devices": ["npu"],
}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, None),
        ({"accelerator_functions": []}, None),
        (ACCELERATED, r"^the model calls npu_a, npu_b of accelerators \(npu\); give the C file"),
        ({"memory": {"dynamic_allocations": {"allocator": "malloc"}}}, None),
        (
            {"memory": {"dynamic_allocations": {"allocator": "TVMBackendAllocWorkspace"}}},
            "^the model calls TVMBackendAllocWorkspace and TVMBackendFreeWorkspace of TVM's",
        ),
    ],
)
def test_functions_that_are_elsewhere_need_sources(metadata, message):
    metadata = {"memory": {}, **metadata}
    check_sources(metadata, ["functions.c"])
    if message is None:
        check_sources(metadata, [])
    else:
        with pytest.raises(BuildError, match=message):
            check_sources(metadata, [])


def test_sources_are_included_from_where_they_are(tmp_path, monkeypatch):
    source = tmp_path / "some folder" / "a.c"
    source.parent.mkdir()
    source.write_text("")
    monkeypatch.chdir(source.parent)
    include_sources(["a.c", source], tmp_path)
    for number in (0, 1):
        assert (tmp_path / f"extra_source_{number}.c").read_text() == f'#include "{source}"\n'


@pytest.mark.parametrize("name", ['a"b.c', "a??b.c", "a\nb.c"])
def test_paths_that_c_cannot_name_are_refused(tmp_path, name):
    (tmp_path / name).write_text("")
    with pytest.raises(BuildError, match="rename the file or its folder"):
        include_sources([tmp_path / name], tmp_path)


def test_sources_that_are_missing_are_named(tmp_path):
    for use in (include_sources, lambda s, folder: compile_sources(s, folder, folder)):
        with pytest.raises(BuildError, match=r"none\.c: no such file"):
            use([tmp_path / "none.c"], tmp_path)
        with pytest.raises(BuildError, match="no such file"):
            use([tmp_path], tmp_path)
