"""The modules that files of tests/filecheck show passes by."""

from __future__ import annotations

from argparse import Namespace

from tvm.ir import IRModule

from conftest import ROOT
from usmp.driver.opt.input import read_modules


def module_of(name: str) -> IRModule:
    """Return the module of the file tests/filecheck/NAME.py."""
    path = ROOT / f"tests/filecheck/{name}.py"
    (mod,) = read_modules(Namespace(FILE=str(path), split_input_file=False))
    return mod
