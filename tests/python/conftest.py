"""What many tests need: models, a C compiler, the reference runtime."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("USMP_SHARED", ROOT.parent / "shared"))


@pytest.fixture
def digits_model() -> Path:
    """The model of examples/digits."""
    return ROOT / "examples/digits/digits_int8.tflite"


@pytest.fixture
def digits_images() -> tuple[np.ndarray, np.ndarray]:
    """The held-out images of examples/digits, and their labels."""
    with np.load(ROOT / "examples/digits/test_images.npz") as data:
        return data["images"], data["labels"]


@pytest.fixture
def shared_model():
    """The path of a model of the public collection that lies beside the checkout."""

    def find(name: str, ending: str = ".tflite") -> Path:
        path = SHARED / "models" / f"{name}{ending}"
        if not path.exists():
            pytest.skip(f"{path} is not there; set USMP_SHARED to the folder that has models/")
        return path

    return find
