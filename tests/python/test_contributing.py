"""What CONTRIBUTING.md names is there."""

import importlib
import re

import pytest

from conftest import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
WALK = PAGE.partition("## One buffer from end to end")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip() for cell in row.split("|")[1:-1]]
    for row in re.findall(r"^\|.*\|$", WALK, re.MULTILINE)[2:]
]


def layout() -> list[str]:
    """The files and folders of the tree."""
    tree = PAGE.partition("## The layout")[2].partition("\n\n    ")[2].partition("\n\n")[0]
    found, parents = [], []
    for line in f"    {tree}".splitlines():
        indentation = len(line) - len(line.lstrip())
        name = line.split()[0]
        parents = [parent for parent in parents if parent[0] < indentation]
        if re.fullmatch(r"[\w./]+", name) and re.match(r" *\S+(  |$)", line):
            found.append("".join([*(parent[1] for parent in parents), name]))
            parents.append((indentation, name))
    return found


@pytest.mark.parametrize("path", layout())
def test_the_layout(path):
    assert (ROOT / path).exists()


def test_every_package_is_in_the_layout():
    packages = {
        f"{path.parent.relative_to(ROOT)}/"
        for top in ("usmp", "usmp_solver")
        for path in (ROOT / "python" / top).glob("*/__init__.py")
    }
    assert packages <= set(layout())


@pytest.mark.parametrize(("file", "function"), [row[:2] for row in ROWS])
def test_the_way_of_one_buffer(file, function):
    path, name = file.strip("`"), function.strip("`")
    if path.endswith(".py"):
        module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
        found = module
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found)
    else:
        assert name.rpartition("::")[2] in (ROOT / "src" / path).read_text()


def test_paths_that_the_text_names():
    paths = re.findall(r"`((?:python|src|tests|docs|benchmarks)/[\w./]+)`", PAGE)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []
