"""usmp.export_model_library_format: compiled models to one archive."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import usmp
from support.relax_models import PARAMS, Attention, X, attention

pytestmark = pytest.mark.cc


def build(name: str, scale: float = 1) -> usmp.AOTExecutorFactoryModule:
    params = {key: (scale * value).astype(np.float32) for key, value in PARAMS.items()}
    return usmp.build(Attention, params=params, module_name=name)


@pytest.fixture(scope="module")
def models() -> list[usmp.AOTExecutorFactoryModule]:
    return [build("one"), build("two", 2)]


@pytest.mark.slow
def test_one_model_gives_the_archive_of_its_own_method(models, tmp_path):
    path = usmp.export_model_library_format(models[0], str(tmp_path / "a.tar"))
    assert path == tmp_path / "a.tar"
    models[0].export_model_library_format(tmp_path / "b.tar")
    assert path.read_bytes() == (tmp_path / "b.tar").read_bytes()


def test_each_model_of_an_archive_runs(models, tmp_path):
    path = usmp.export_model_library_format(models, tmp_path / "models.tar")
    archive = usmp.load_archive(path)
    assert list(archive.modules) == ["one", "two"]
    for name, scale in (("one", 1), ("two", 2)):
        output = archive.load(name).run({"x": X})["output"]
        np.testing.assert_allclose(output, attention(scale=scale), rtol=1e-5)


@pytest.mark.slow
def test_the_same_models_give_the_same_bytes(models, tmp_path):
    a = usmp.export_model_library_format(models, tmp_path / "a.tar")
    b = usmp.export_model_library_format((build("one"), build("two", 2)), tmp_path / "b.tar")
    assert a.read_bytes() == b.read_bytes()


def test_a_refused_export_leaves_no_file(models, tmp_path):
    with pytest.raises(ValueError, match="Multiple modules should have unique names"):
        usmp.export_model_library_format([models[0], models[0]], tmp_path / "a.tar")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("given", ["net.tar", [1], None])
def test_what_is_no_model(given):
    with pytest.raises(TypeError, match=r"takes what usmp\.build returns, or a list of it, not "):
        usmp.export_model_library_format(given, Path("unused.tar"))
