"""Archives that tests read, edit and damage."""

from __future__ import annotations

import copy
import io
import tarfile
from pathlib import Path

import pytest

import usmp
from support.planner_contexts import planner_context
from support.relax_models import PARAMS, Attention
from support.tflite_file import one_operator_model
from usmp.runtime import Archive, ArchiveError


def relu_archive(folder: Path) -> Path:
    """An archive of one operator, x -> y of float32[1, 4]."""
    (folder / "relu.tflite").write_bytes(one_operator_model())
    factory = usmp.build(usmp.import_model(folder / "relu.tflite"))
    factory.export_model_library_format(folder / "relu.tar")
    return folder / "relu.tar"


def attention_archive(folder: Path, *names: str, **options) -> tuple[Archive, list]:
    """An archive of models of these names, read back, and what they were built to."""
    with planner_context(options):
        built = [usmp.build(Attention, params=PARAMS, module_name=name) for name in names]
    path = usmp.export_model_library_format(built, folder / "models.tar")
    return usmp.load_archive(path), built


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def message_of(path: Path) -> str:
    with pytest.raises(ArchiveError) as error:
        usmp.load_archive(path)
    prefix = f"{path}: "
    assert str(error.value).startswith(prefix)
    return str(error.value).removeprefix(prefix)


def edited(metadata: dict, steps: str, value: object) -> dict:
    """`metadata` with the entry at the path `steps` replaced, or removed if `value` is None."""
    metadata = copy.deepcopy(metadata)
    *parents, last = [int(step) if step.isdigit() else step for step in steps.split("/")]
    target = metadata
    for step in parents:
        target = target[step]
    if value is None:
        del target[last]
    else:
        target[last] = value
    return metadata
