"""What Python declares of the C++ library is what the library has registered."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tvm_ffi import Object

import usmp.objects
from conftest import ROOT
from usmp.objects.ffi_object import FFIObject, ValueObject


def classes_of_cpp(base: type[Object] = FFIObject) -> list[type[Object]]:
    found = [c for sub in base.__subclasses__() for c in (sub, *classes_of_cpp(sub))]
    return [c for c in found if c.__module__.startswith("usmp.objects") and c is not ValueObject]


CLASSES = classes_of_cpp()


@pytest.mark.slow
def test_types_of_functions_are_those_of_the_library():
    # As `tvm-ffi-stubgen`, without PyTorch, which takes as long as all the rest.
    program = (
        "import sys; sys.modules['torch'] = None; from tvm_ffi.stub import cli; "
        "sys.exit(cli.__main__())"
    )
    arguments = ["--check", "--imports", "usmp._ffi", "python/usmp/_ffi_api.py"]
    command = [sys.executable, "-c", program, *arguments]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout


def test_the_classes_are_found():
    names = {c.__name__ for c in CLASSES}
    assert {"BufferInfo", "LiveRange", "PoolAllocation", "WorkspacePoolInfo"} <= names
    exported = {getattr(usmp.objects, name) for name in usmp.objects.__all__}
    assert {c for c in exported if isinstance(c, type) and issubclass(c, FFIObject)} <= set(CLASSES)


def test_classes_declare_the_fields_of_the_library():
    declared, registered = {}, {}
    for cls in CLASSES:
        plain = [base for base in cls.__bases__ if not issubclass(base, FFIObject)]
        own = [name for each in (cls, *plain) for name in vars(each).get("__annotations__", {})]
        declared[cls.__name__] = sorted(name for name in own if name[:2] != "__")
        registered[cls.__name__] = sorted(f.name for f in cls.__tvm_ffi_type_info__.fields)
    assert declared == registered
