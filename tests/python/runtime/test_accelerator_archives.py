"""Archives of models with accelerators, whole and damaged."""

import json
from pathlib import Path

import numpy as np
import pytest

from support.accelerator_models import attention, matmul_source
from support.archives import message_of
from support.relax_models import X
from usmp.codegen.model_library_format import metadata_bytes, write_archive
from usmp.plain.model_library_format import METADATA_FILE
from usmp.runtime import BuildError, load_archive
from usmp.runtime.extra_sources import include_sources


@pytest.mark.slow
@pytest.mark.cc
def test_an_archive_takes_sources(tmp_path):
    factory, source = attention(), matmul_source(tmp_path)
    factory.export_model_library_format(tmp_path / "model.tar")
    loaded = load_archive(tmp_path / "model.tar").load(sources=[source])
    expected = factory.load([source]).run({"x": X})["output"]
    np.testing.assert_array_equal(loaded.run({"x": X})["output"], expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("devices", 1),
        ("devices", [1]),
        ("devices", []),
        ("accelerator_functions", "call"),
        ("accelerator_functions", [{}]),
        ("accelerator_functions", []),
    ],
)
def test_damaged_metadata(tmp_path, key, value):
    assert damage(tmp_path, key, value) == (
        'module "default" has functions of accelerators without symbol or device'
    )


@pytest.mark.slow
def test_metadata_and_header_name_the_same_devices(tmp_path):
    assert damage(tmp_path, "devices", ["accel", "npu"]) == (
        "struct tvmgen_default_devices has the members accel, npu there and accel in the header"
    )


def damage(folder: Path, key: str, value: object) -> str:
    """What is said of an archive whose metadata has `value` under `key`."""
    files = attention().files()
    metadata = json.loads(files[METADATA_FILE])
    metadata["modules"]["default"][key] = value
    write_archive({**files, METADATA_FILE: metadata_bytes(metadata)}, folder / "model.tar")
    return message_of(folder / "model.tar").removeprefix("metadata.json is damaged: ")


@pytest.mark.parametrize("name", ['a"b.c', "a??/b.c", "a\nb.c"])
def test_a_source_that_c_cannot_include(tmp_path, name):
    folder = tmp_path / name.replace("/", "-")
    folder.mkdir()
    source = folder / "??" / "x.c" if "??" in name else folder / "x.c"
    source.parent.mkdir(exist_ok=True)
    source.write_text("")
    with pytest.raises(BuildError) as error:
        include_sources([source], tmp_path)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith("cannot be included in C; rename the file or its folder")
    assert list(tmp_path.glob("extra_source_*")) == []
