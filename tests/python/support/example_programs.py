"""The checkout and the demo, as the examples of documents find them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np

from conftest import ROOT


def link_checkout(folder: Path) -> None:
    """Make a folder look like the checkout; files may be left behind in it."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/tvmc").symlink_to(Path(sys.executable).with_name("tvmc"))


def write_demo_inputs(images: np.ndarray) -> None:
    """Write the file of inputs that `make demo` leaves, below the current folder."""
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples/digits/demo.py")
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    demo.write_inputs(images[:1])
