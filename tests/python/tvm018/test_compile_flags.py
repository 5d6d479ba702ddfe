"""Each flag that `tvmc compile` had in TVM 0.18 does what its row says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from tflite import BuiltinOperator
from tvm.ir.instrument import PassTimingInstrument
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.tflite_builder import Graph, write_model
from usmp.driver import opt, tvmc
from usmp.driver.errors import UsageError
from usmp.driver.old_flags import current_arguments
from usmp.support.errors import UnsupportedModelError
from usmp.tvm018 import ACCEPTED, MAIN_FLAGS, MAPPED, MODEL_FILES, REFUSED, OldName
from usmp.tvm018.compile_flags import COMPILE_FLAGS
from usmp.tvm018.old_name import NO_VALUE, OPTIONAL_TRUTH

ROWS = (*MAIN_FLAGS, *COMPILE_FLAGS)
WITHOUT_FUSION = "--pass-config=relax.FuseOps.max_depth=1"
PACKED = "--executor-aot-interface-api=packed"


def named(row: OldName) -> str:
    return " ".join(filter(None, [row.name, *row.values[:1], row.verdict, row.beside]))


def values(row: OldName) -> tuple[str, ...]:
    return row.values or ("" if row.arity == NO_VALUE else "any-value",)


def written(row: OldName, value: str) -> str:
    has_none = row.arity == NO_VALUE or (row.arity == OPTIONAL_TRUTH and not value)
    return row.name if has_none else f"{row.name}={value}"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """relu(x) + 1, two operators that are fused."""
    graph = Graph()
    x = graph.tensor([1, 8], "float32", name="x")
    one = graph.constant(np.arange(8, dtype=np.float32).reshape(1, 8))
    relu, y = (graph.tensor([1, 8], "float32", name=name) for name in ("relu", "y"))
    graph.operator(BuiltinOperator.RELU, [x], [relu])
    graph.operator(BuiltinOperator.ADD, [relu, one], [y])
    graph.inputs.append(x)
    graph.output(y)
    path = tmp_path_factory.mktemp("model") / "model.tflite"
    path.write_bytes(write_model(graph))
    return path


@pytest.fixture
def compiled(model, tmp_path, capfd):
    """Compile with these arguments before and after the command: the archive, and the notes."""

    def compile_with(*flags: str, before: Sequence[str] = ()) -> tuple[bytes, list[str]]:
        path = tmp_path / "out.tar"
        path.unlink(missing_ok=True)
        assert tvmc.main([*before, "compile", str(model), "-o", str(path), *flags]) == 0
        return path.read_bytes(), capfd.readouterr().err.splitlines()

    return compile_with


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_line_without_the_flag_is_what_the_row_says(row):
    beside = [row.beside.replace("*", "model")] if row.beside[:1] not in ("", "!") else []
    for value in values(row):
        line = ["compile", *beside, written(row, value)]
        if row.verdict == REFUSED:
            with pytest.raises(UsageError) as error:
                current_arguments(line)
            assert str(error.value) == row.sentence(value)
        else:
            current, old = current_arguments(line)
            assert current == ["compile", *beside, *row.to]
            assert [flag.row for flag in old] == [row]


def test_accepted_flags_change_nothing(compiled):
    elsewhere = ("*.onnx", "*.pt2", PACKED)
    rows = [row for row in ROWS if row.verdict == ACCEPTED and row.beside not in elsewhere]
    cases = [(row, values(row)[0]) for row in rows]
    before = [written(*case) for case in cases if case[0] in MAIN_FLAGS]
    after = [written(*case) for case in cases if case[0] not in MAIN_FLAGS]
    archive, notes = compiled(*after, before=before)
    assert archive == compiled()[0]
    kinds = {False: "note", True: "warning"}
    assert notes == [
        f"tvmc: {kinds[row.changes_meaning]}: {row.sentence(value)}" for row, value in cases
    ]
    warnings = [note for note in notes if note.startswith("tvmc: warning: ")]
    assert compiled("-q", *after, before=before)[1] == warnings


def test_runtime_cpp_beside_packed_functions(compiled):
    archive, notes = compiled("--runtime", "cpp", "--executor-aot-interface-api", "packed")
    assert archive == compiled(PACKED)[0]
    (note,) = notes
    assert note.startswith("tvmc: note: --runtime=cpp: ")


@pytest.mark.parametrize("row", [row for row in ROWS if row.verdict == MAPPED], ids=named)
def test_a_mapped_flag_is_what_the_other_says(compiled, row):
    archive, notes = compiled(written(row, row.values[0]))
    assert archive == compiled(*row.to)[0] != compiled()[0]
    kind = "warning" if row.changes_meaning else "note"
    assert notes == [f"tvmc: {kind}: {row.sentence(row.values[0])}"]


def test_several_passes_in_one_flag(compiled):
    archive, notes = compiled("--disabled-pass", "FuseOps, AlterOpLayout")
    assert archive == compiled(WITHOUT_FUSION)[0]
    assert [note.split(": ")[2] for note in notes] == [
        "--disabled-pass=FuseOps",
        "--disabled-pass=AlterOpLayout",
    ]


def test_refused_flags_are_one_error(model, tmp_path, capfd):
    path = tmp_path / "out.tar"
    flags = ["--executor=graph", "--print-pass-times", "-f", "so", "--runtime-crt-system-lib", "1"]
    assert tvmc.main(["compile", str(model), "-o", str(path), *flags]) == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert re.findall(r"(?:error:|;) (-[^:]+):", line) == [
        "--executor=graph",
        "--print-pass-times",
        "-fso",
    ]
    assert not path.exists()


@pytest.mark.parametrize("row", MODEL_FILES, ids=lambda row: row.name)
def test_a_file_that_is_not_read(tmp_path, row):
    path = tmp_path / f"model{row.name.upper()}"
    path.write_bytes(b"content")
    with pytest.raises(UnsupportedModelError) as error:
        usmp.import_model(path)
    assert str(error.value).endswith(f"; {row.reason}")


# ---- What the reasons advise.


@pytest.mark.parametrize("when", ["before", "after"])
def test_usmp_opt_prints_the_ir(model, capfd, when):
    (advice,) = (
        row.reason for row in ROWS if row.name == f"--print-ir-{when}" and row.verdict == REFUSED
    )
    command = re.match(r'usmp-opt FILE "(\S+)" (\S+)', advice)
    arguments = [str(model), command[1], command[2].replace("NAME", "FuseOperators")]
    assert opt.main(arguments) == 0
    assert f"# IR {when} usmp.FuseOperators" in capfd.readouterr().err


def test_passes_are_timed(model):
    timing = PassTimingInstrument()
    with PassContext(opt_level=3, instruments=[timing]):
        usmp.get_pipeline()(usmp.import_model(model))
        times = timing.render()
    assert "usmp.UnifiedStaticMemoryPlanner" in times


def test_help_has_the_flags_that_reasons_name_and_none_of_the_old_ones(capfd):
    with pytest.raises(SystemExit):
        tvmc.main(["compile", "--help"])
    flags = set(re.findall(r"-[-a-z]+", capfd.readouterr().out))
    gone = {row.name for row in ROWS if row.verdict != REFUSED or not row.values}
    assert flags & gone <= {"--workspace-pools", "--runtime", "--executor"}
    advised = {flag for row in ROWS for flag in re.findall(r"(?<!\S)--[a-z-]+", row.reason)}
    own = {row.name for row in ROWS}
    assert advised - own - flags <= {"--operators", "--print-before", "--print-after"} | {
        "--list-passes"
    }
    for row in ROWS:
        for page in re.findall(r"docs/\S+\.md", row.reason):
            assert (ROOT / page).is_file()
