"""Who may search: stages and the search itself, and the passes that hold one stage or the plan."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
from tvm.ir.transform import Pass

import usmp
from usmp import transform
from usmp.aot import transform as aot_transform
from usmp.planning.search import Stage
from usmp.relax import transform as relax_transform

PACKAGE = Path(usmp.__file__).parent
PLANNERS = {
    "transform/assign_pool_info.py",
    "transform/create_allocates_for_io.py",
    "transform/unified_static_memory_planner.py",
}
"""Passes that plan, or prepare a module for the plan."""
OF_ONE_STAGE = {
    "aot/transform/lower_main.py",
    "transform/choose_schedules.py",
    "transform/order_operators.py",
    "transform/stream_operators.py",
}
"""Passes that are a search with one stage, which usmp-opt runs."""
HIDDEN = ("usmp.planning.search", "usmp.planning.session", "usmp.planning.plan")


def imports(path: Path) -> set[str]:
    """The modules that a file imports, at its head or inside of functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports have full names"
            found |= {str(node.module), *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


def importing(modules: tuple[str, ...], *folders: str) -> set[str]:
    """Files of some folders that import one of these modules, or a part of one."""
    paths = [path for folder in folders for path in (PACKAGE / folder).rglob("*.py")]
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in paths
        if any(f"{name}.".startswith(f"{module}.") for name in imports(path) for module in modules)
    }


def test_no_other_pass_knows_the_search_a_session_or_a_planner():
    folders = ("transform", "relax/transform", "aot/transform")
    assert importing(HIDDEN, *folders) == PLANNERS | OF_ONE_STAGE
    assert importing(HIDDEN[:1], *folders) == OF_ONE_STAGE


def test_only_stages_know_the_search_beside_them():
    found = importing(HIDDEN, "relax", "aot") - PLANNERS - OF_ONE_STAGE
    # What makes main functions makes the candidates of a stage.
    assert {path for path in found if "/stages/" not in path} == {"aot/main_candidates.py"}


def test_plans_are_made_in_one_file():
    callers = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "make_plan"
    }
    assert callers == {"planning/session.py"}


@pytest.mark.parametrize("package", [transform, relax_transform, aot_transform])
def test_no_pass_takes_passes(package):
    for name in package.__all__:
        made = getattr(package, name)
        hints = inspect.signature(made).parameters.values() if isinstance(made, type) else ()
        for parameter in hints:
            assert Pass.__name__ not in str(parameter.annotation), (name, parameter)


def subclasses(kind: type) -> list[type]:
    return [found for one in kind.__subclasses__() for found in (one, *subclasses(one))]


def test_each_stage_is_in_a_folder_of_stages():
    own = [one for one in subclasses(Stage) if one.__module__.startswith("usmp.")]
    assert own
    for one in own:
        assert one.__module__.split(".")[-2] == "stages", one
