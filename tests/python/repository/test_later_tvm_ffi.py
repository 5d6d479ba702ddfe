"""Builds under a later apache-tvm-ffi than that of the environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.children import run
from support.small_digits import small_digits

LATER = Path(sys.prefix) / "later-tvm-ffi"
"""Where scripts/install.sh puts it."""

BUILD = """
import sys
import tvm_ffi
import usmp
built = usmp.build(usmp.import_model(sys.argv[1]), "c")
print(tvm_ffi.__file__)
print(built.source)
"""

SAVE = """
import sys
from usmp.driver import tvmc
from usmp.driver.errors import UsageError
try:
    tvmc.load(sys.argv[1]).save(sys.argv[1] + ".json")
except UsageError as error:
    print(error)
"""


def printed(program, *arguments):
    if not LATER.is_dir():
        pytest.skip(f"no apache-tvm-ffi in {LATER}: scripts/install.sh puts it there")
    paths = os.pathsep.join([str(LATER), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": paths}
    return run(sys.executable, "-c", program, *arguments, env=env, check=True).stdout


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "digits.tflite"
    path.write_bytes(small_digits())
    return path


@pytest.mark.process
@pytest.mark.slow
def test_a_build_is_the_same(model):
    where, *source = printed(BUILD, model).splitlines()
    assert Path(where).is_relative_to(LATER)
    here = run(sys.executable, "-c", BUILD, model, check=True).stdout.splitlines()
    assert here[1:] == source
    assert len(source) > 100


@pytest.mark.process
@pytest.mark.slow
def test_a_model_that_cannot_be_saved_is_an_error(model):
    text = printed(SAVE, model)
    assert text.startswith("a model cannot be saved with apache-tvm-ffi 0.1.15.post2: ")
    assert not model.with_suffix(".tflite.json").exists()
