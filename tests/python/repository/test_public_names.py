"""Names that users import: none is that of a module too, and old ones work, with a warning."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pkgutil import iter_modules
from types import ModuleType

import pytest

import usmp
import usmp.aot_pipeline
import usmp.frontend
from conftest import ROOT
from usmp.relax.accelerators import quantized_operator

PUBLIC = (
    "usmp",
    "usmp.algorithms",
    "usmp.analysis",
    "usmp.objects",
    "usmp.runtime",
    "usmp.transform",
    "usmp_solver",
)
MOVED = {
    "usmp.get_pipeline": ("usmp.get_aot_pipeline", usmp.get_aot_pipeline),
    "usmp.pipeline": ("usmp.get_vm_pipeline", usmp.get_vm_pipeline),
    "usmp.relax.accelerators.quantised_operator": (
        "usmp.relax.accelerators.quantized_operator",
        quantized_operator,
    ),
    "usmp.relax.import_model": ("usmp.import_model", usmp.frontend.import_model),
    "usmp.relax.lower_to_aot": ("usmp.aot_pipeline.lower_to_aot", usmp.aot_pipeline.lower_to_aot),
}


@pytest.mark.parametrize("package", PUBLIC)
def test_no_name_is_that_of_a_module(package):
    module = importlib.import_module(package)
    modules = {found.name for found in iter_modules(module.__path__)}
    assert modules & set(module.__all__) == set()
    assert not [name for name in module.__all__ if isinstance(getattr(module, name), ModuleType)]


@pytest.mark.parametrize("old", MOVED)
def test_a_name_that_has_changed_works_with_a_warning(old):
    new, value = MOVED[old]
    package, _, name = old.rpartition(".")
    text = rf"^{old} is now {new}; the old name goes with the next release$"
    with pytest.warns(DeprecationWarning, match=text) as caught:
        assert getattr(importlib.import_module(package), name) is value
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.slow
def test_a_name_that_has_changed_can_be_imported():
    program = (
        "from usmp.relax import import_model; import usmp; assert import_model is usmp.import_model"
    )
    command = [sys.executable, "-W", "always::DeprecationWarning", "-c", program]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "usmp.relax.import_model is now usmp.import_model" in finished.stderr


def test_a_function_of_tvm_that_is_a_pass_now():
    made = usmp.transform.convert_pool_allocations_to_offsets({}, emit_tvmscript_printable=True)
    assert isinstance(made, usmp.transform.ConvertPoolAllocationsToOffsets)
    assert made.emit_tvmscript_printable


def test_names_that_never_were():
    with pytest.raises(AttributeError, match=r"^module 'usmp\.relax' has no attribute 'nothing'$"):
        usmp.relax.nothing  # noqa: B018


def test_no_module_replaces_a_name_of_its_package():
    """Importing a submodule sets an attribute of its package, which may be another name there."""
    replaced = []
    for init in sorted((ROOT / "python").rglob("__init__.py")):
        package = ".".join(init.parent.relative_to(ROOT / "python").parts)
        modules = {path.stem for path in init.parent.iterdir() if path.suffix == ".py"}
        for node in ast.parse(init.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module != package:
                names = {alias.asname or alias.name for alias in node.names} & modules
                replaced += [f"{package}.{n}" for n in names if node.module != f"{package}.{n}"]
    assert replaced == []
