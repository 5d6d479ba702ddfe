"""Mutate one operator, comparison, constant or condition of the product's Python at a time, and
report the mutations that the nearest tests do not notice.

The mutations are Cosmic Ray's, and `any` for `all`, `min` for `max`, `not in` for `in`. Imports,
annotations, assertions and error messages are not mutated. Each mutation is tried in a copy of the
checkout. Its tests are those of the file with the same name and of files that import the module,
then the quick tests of its package. With --unit, a mutation that survives also runs all quick unit
tests, as `make test-unit` does. A survivor means a missing test, dead code, or an equivalent
mutation, which benchmarks/data/equivalent_mutations.json lists with its reason.

    python benchmarks/mutations.py [--sample N] [--package P] [--seed N] [--unit] [PATH:LINE ...]

With --executed FOLDER, a record of tests/python/support/executed_functions.py, only tests that
execute the mutated function run, slow tests of the package included; with --unit, others, too.

Needs `pip install cosmic-ray`. Only its mutations are used, because its own runner has one command
for all mutations and changes the checkout itself.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import ClassVar

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from parso.python.tree import Keyword, Name
from parso.tree import NodeOrLeaf

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.checkout_copies import ROOT, CheckoutCopy
from support.executed_functions import ExecutedFunctions, first_tests
from support.idle_workers import map_with_workers

EQUIVALENT = ROOT / "benchmarks/data/equivalent_mutations.json"
BINARY = (
    "Add_Sub Sub_Add Mul_FloorDiv FloorDiv_Mul Div_Mul Mod_FloorDiv Pow_Mul LShift_RShift "
    "RShift_LShift BitOr_BitAnd BitAnd_BitOr BitXor_BitOr"
).split()
COMPARISONS = (
    "Eq_NotEq NotEq_Eq Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt Is_IsNot IsNot_Is"
).split()
OTHERS = (
    "ReplaceUnaryOperator_Delete_Not ReplaceUnaryOperator_Delete_USub "
    "ReplaceUnaryOperator_Delete_Invert AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue "
    "ReplaceAndWithOr ReplaceOrWithAnd NumberReplacer"
).split()


class ReplaceBuiltin(Operator):  # type: ignore[misc]
    """A mutation that replaces a built-in function by its opposite."""

    OTHER: ClassVar = {"any": "all", "all": "any", "min": "max", "max": "min"}

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple[object, object]]:
        following = node.get_next_leaf() if isinstance(node, Name) else None
        if following is not None and node.value in self.OTHER and following.value == "(":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Name, index: int) -> Name:
        node.value = self.OTHER[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class NegateIn(Operator):  # type: ignore[misc]
    """A mutation that replaces `in` by `not in`."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple[object, object]]:
        if isinstance(node, Keyword) and node.value == "in" and node.parent.type == "comparison":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Keyword, index: int) -> Keyword:
        node.value = "not in"
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


OPERATORS: list[Operator] = [
    *(plugins.get_operator(f"core/ReplaceBinaryOperator_{name}")() for name in BINARY),
    *(plugins.get_operator(f"core/ReplaceComparisonOperator_{name}")() for name in COMPARISONS),
    *(plugins.get_operator(f"core/{name}")() for name in OTHERS),
    ReplaceBuiltin(),
    NegateIn(),
]


@dataclass(frozen=True)
class Place:
    """A place where a file can be mutated, in one or several ways.

    Parameters
    ----------
    path
        the file, relative to the checkout.
    line
        line number, from 1.
    ways
        index of a mutation operator in `OPERATORS`, and of its occurrence in the file.
    """

    path: str
    line: int
    ways: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Mutation:
    """A mutated file, and the tests that are nearest to it."""

    path: str
    line: int
    content: str

    @cached_property
    def lines(self) -> tuple[str, str]:
        """The line before and after the mutation."""
        before = (ROOT / self.path).read_text().splitlines()[self.line - 1]
        return before.strip(), self.content.splitlines()[self.line - 1].strip()

    @property
    def package(self) -> str:
        return os.path.dirname(self.path).removeprefix("python/")

    @cached_property
    def folder(self) -> Path:
        """The folder with the tests of its package."""
        top, *rest = self._module
        folder = Path("tests/python", *rest[:-1] if top == "usmp" else (top, *rest[:-1]))
        while not any((ROOT / folder).glob("test_*.py")):
            folder = folder.parent
        return folder

    @property
    def _module(self) -> tuple[str, ...]:
        return Path(self.path).relative_to("python").with_suffix("").parts

    @cached_property
    def nearest(self) -> list[str]:
        """The tests that mirror this file or import it."""
        stem = self._module[-1].strip("_")
        mirrored = [
            *(ROOT / self.folder).glob(f"test_{stem}.py"),
            *(ROOT / self.folder).glob(f"test_{stem}_*.py"),
        ]
        imported = _importing().get(".".join(self._module), set())
        tests = imported.union(str(path.relative_to(ROOT)) for path in mirrored)
        # A pass also has a file of expected IR.
        if (ROOT / "tests/filecheck" / f"{stem}.py").exists():
            tests.add(f"tests/python/repository/test_filecheck.py::test_file[{stem}]")
        return sorted(tests)

    def levels(self, options: argparse.Namespace) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the levels with marks and names of tests, the quickest first: "file" for nearest
        tests, "package" for its package, "unit" for quick unit tests, "all" for others."""
        for marks in ("not slow", "slow"):
            yield "file", marks, self.nearest
        folder = (ROOT / self.folder).glob("test_*.py")
        package = {str(path.relative_to(ROOT)) for path in folder}.difference(self.nearest)
        executing = options.executed and options.executed.tests(self.path, self.line)
        if executing is not None:
            # Keep the tests of files that are newer than the record, because they may execute it.
            package -= options.executed.files.difference(test.file for test in executing)
        # Only unit tests of the outermost folder, which also has tests from a model to C.
        quick = "unit and not slow" if self.folder == Path("tests/python") else "not slow"
        yield "package", quick, sorted(package)
        if executing is None:
            yield "unit", "unit and not slow", ["tests/python"] * options.unit
            return
        others = [test for test in executing if test.file not in self.nearest]
        slow = [test for test in others if test.file in package and "slow" in test.markers]
        yield "package", "", first_tests(slow, options.most_seconds)
        if options.unit:
            others = [test for test in others if test.file not in package]
            unit = [t for t in others if "unit" in t.markers and "slow" not in t.markers]
            yield "unit", "", first_tests(unit, options.most_seconds)
            others = [test for test in others if test not in unit]
            yield "all", "", first_tests(others, options.most_seconds)


@cache
def _importing() -> dict[str, set[str]]:
    """Return the test files that import each module."""
    importing: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "tests/python").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                importing[name].add(str(path.relative_to(ROOT)))
    return importing


def places(path: Path) -> list[Place]:
    """Return the places where a file can be mutated."""
    source = path.read_text()
    excluded = list(_excluded(ast.parse(source)))
    tree = get_ast(source)
    ways: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for number, operator in enumerate(OPERATORS):
        positions = [p for node in ast_nodes(tree) for p in operator.mutation_positions(node)]
        for occurrence, (start, _) in enumerate(positions):
            if not any(first <= start < last for first, last in excluded):
                ways[start].append((number, occurrence))
    name = str(path.relative_to(ROOT))
    return [Place(name, start[0], tuple(ways)) for start, ways in sorted(ways.items())]


def _excluded(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the ranges of imports, annotations, decorators, assertions and messages."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.Assert | ast.JoinedStr):
            parts = [node]
        elif isinstance(node, ast.AnnAssign | ast.arg):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [node.returns, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list]
        elif isinstance(node, ast.keyword):
            # `strict` of `zip` is an assertion that lengths are equal.
            parts = [node] * (node.arg == "strict")
        elif isinstance(node, ast.If):
            parts = [node] * (ast.unparse(node.test) == "TYPE_CHECKING")
        elif isinstance(node, ast.Assign):
            parts = [node] * _is_type(node.value)
        for part in parts:
            if part is not None:
                yield (
                    (part.lineno, part.col_offset),  # type: ignore[attr-defined]
                    (part.end_lineno, part.end_col_offset),  # type: ignore[attr-defined]
                )


def _is_type(value: ast.expr) -> bool:
    """Return whether an assigned value is a type, as in `A = B | None`."""
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name)]
    return (
        isinstance(value, ast.BinOp | ast.Subscript)
        and bool(names)
        and all(name.id[0].isupper() or name.id in dir(__builtins__) for name in names)
    )


def drawn(packages: str, sample: int, seed: int) -> Iterator[Mutation]:
    """Yield random mutations, equally many of each package if possible, at most one of a place."""
    random = Random(seed)
    by_package: dict[str, dict[Path, int]] = defaultdict(dict)
    for path in sorted((ROOT / "python").rglob("*.py")):
        name = path.relative_to(ROOT / "python").as_posix()
        if name.startswith(packages):
            by_package[os.path.dirname(name)][path] = path.stat().st_size
    remaining: dict[Path, list[Place]] = {}
    while sample and any(by_package.values()):
        for sizes in by_package.values():
            if not sizes or not sample:
                continue
            [path] = random.choices(list(sizes), list(sizes.values()))
            if path not in remaining:
                remaining[path] = places(path)
                random.shuffle(remaining[path])
            if not remaining[path]:
                del sizes[path]
                continue
            mutation = _mutation(remaining[path].pop(), random)
            if mutation is not None:
                sample -= 1
                yield mutation


def _mutation(place: Place, random: Random) -> Mutation | None:
    number, occurrence = random.choice(place.ways)
    source = (ROOT / place.path).read_text()
    content = mutate_code(source, OPERATORS[number], occurrence)
    try:
        same = content is None or ast.dump(ast.parse(content)) == ast.dump(ast.parse(source))
    except SyntaxError:
        return None
    return None if same else Mutation(place.path, place.line, content)


def named(paths: Iterable[str]) -> Iterator[Mutation]:
    """Yield all mutations of lines `PATH:LINE`."""
    for name in paths:
        path, _, line = name.partition(":")
        for place in places(ROOT / path):
            if place.line == int(line):
                for way in place.ways:
                    mutation = _mutation(Place(path, place.line, (way,)), Random(0))
                    if mutation is not None:
                        yield mutation


def try_mutation(
    copy: CheckoutCopy, mutation: Mutation, options: argparse.Namespace, broken: set[str]
) -> str:
    """Return the level of tests that notice a mutation: "file", "package", "unit", "all", "none".

    Tests that fail without the mutation, too, do not count, and are added to `broken`.
    """
    for level, marks, tests in mutation.levels(options):
        if not tests:
            continue
        with copy.changed(mutation.path, mutation.content):
            failing = copy.failing(["-m", marks, *tests])
        if failing and not copy.fails_unchanged(failing):
            return level
        if failing:
            broken.add(" ".join(failing))
    return "none"


def main() -> None:
    """Print each survivor, then the number of noticed mutations of each package."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("LINES", nargs="*", help="PATH:LINE, to try all mutations of a line")
    parser.add_argument("--sample", type=int, default=100, help="how many (default: %(default)s)")
    parser.add_argument("--package", default="usmp", metavar="P", help="as usmp/codegen")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unit", action="store_true", help="try all unit tests, too")
    parser.add_argument("--executed", type=ExecutedFunctions, metavar="FOLDER", help="a record")
    parser.add_argument("--most-seconds", type=float, default=60, metavar="S", help="of a level")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="copies that run at once")
    options = parser.parse_args()
    listed = {(e["path"], e["before"], e["after"]) for e in json.loads(EQUIVALENT.read_text())}
    chosen = list(
        named(options.LINES)
        if options.LINES
        else drawn(options.package, options.sample, options.seed)
    )
    mutations = [m for m in chosen if (m.path, *m.lines) not in listed]
    if not mutations:
        parser.error("nothing there can be changed")
    results: dict[str, Counter[str]] = defaultdict(Counter)
    broken: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="usmp-mutations-") as name:
        copies = [CheckoutCopy(Path(name) / str(number)) for number in range(options.jobs)]

        def tried(copy: CheckoutCopy, mutation: Mutation) -> str:
            return try_mutation(copy, mutation, options, broken)

        noticing = map_with_workers(copies, tried, mutations)
        for mutation, result in zip(mutations, noticing, strict=True):
            results[mutation.package][result] += 1
            if result not in ("file", "package"):
                kind = "survived" if result == "none" else f"only {result} tests notice"
                before, after = mutation.lines
                print(f"{kind}: {mutation.path}:{mutation.line}\n  - {before}\n  + {after}")
                sys.stdout.flush()
        for copy in copies:
            copy.close()
    for package, counts in sorted(results.items()):
        noticed = counts["file"] + counts["package"]
        print(f"{noticed:4} of {sum(counts.values()):4} {package}")
    total = sum(results.values(), Counter[str]())
    number = sum(total.values())
    noticed = total["file"] + total["package"]
    print(f"{len(chosen) - len(mutations)} mean the same, as the list says")
    print(f"noticed by the nearest tests: {noticed} of {number}, {noticed / number:.1%}")
    print(f"of these {total['package']} by others of the package only")
    if options.unit:
        noticed += total["unit"]
        print(f"with all unit tests: {noticed} of {number}, {noticed / number:.1%}")
    if total["all"]:
        print(f"by other tests that execute it: {total['all']}")
    if broken:
        raise SystemExit("\n".join(f"fails without any change: pytest {t}" for t in broken))


if __name__ == "__main__":
    main()
