"""What CONTRIBUTING.md names is there."""

import importlib
import re

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


def test_the_layout():
    paths = layout()
    assert len(paths) > 50
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_package_is_in_the_layout():
    packages = {
        f"{path.parent.relative_to(ROOT)}/"
        for top in ("usmp", "usmp_solver")
        for path in (ROOT / "python" / top).glob("*/__init__.py")
    }
    assert packages <= set(layout())


def is_there(path: str, name: str) -> bool:
    """Return whether a file of the product has a function."""
    if not path.endswith(".py"):
        return name.rpartition("::")[2] in (ROOT / "src" / path).read_text()
    found = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)


def test_the_way_of_one_buffer():
    steps = [[cell.strip("`") for cell in row[:2]] for row in ROWS]
    assert len(steps) > 10
    assert [step for step in steps if not is_there(*step)] == []


def test_paths_that_the_text_names():
    paths = re.findall(r"`((?:python|src|tests|docs|benchmarks)/[\w./]+)`", PAGE)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


def glossary() -> list[tuple[str, str, str]]:
    """Word, meaning and file of each row."""
    section = PAGE.partition("## Glossary")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| (.+) \| `(.+)` \|$", section, re.MULTILINE)
    return [(word, meaning, path) for word, meaning, path in rows]


def defining_files(name: str) -> list[str]:
    """The files of the product that define a class or a type of this name."""
    definition = re.compile(rf"^(?:class {name}\b|{name}(?:: TypeAlias)? = )", re.MULTILINE)
    files = (
        path for top in ("usmp", "usmp_solver") for path in (ROOT / "python" / top).rglob("*.py")
    )
    return [str(path.relative_to(ROOT)) for path in files if definition.search(path.read_text())]


def test_a_word_of_the_glossary_has_one_meaning():
    words = {name: path for word, _, path in glossary() for name in re.findall(r"`(\w+)`", word)}
    assert len(words) > 15
    assert {name: defining_files(name) for name in words} == {n: [p] for n, p in words.items()}


def test_words_that_the_code_avoids_have_no_class():
    assert [name for name in ("Bytes", "Span", "Step") if defining_files(name)] == []


def test_rows_of_the_glossary_are_short():
    assert [row for row in glossary() if len(" ".join(row[:2]).split()) > 20] == []
