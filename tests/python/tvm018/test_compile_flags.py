"""Each flag that `tvmc compile` had in TVM 0.18 does what its row says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from tflite import BuiltinOperator

import usmp
from conftest import ROOT
from support.all_cases import check_all
from support.commands import message_of
from support.tflite_builder import Graph, write_model
from usmp.driver import tvmc
from usmp.driver.errors import UsageError
from usmp.driver.tvm018.flags import current_arguments
from usmp.support.errors import UnsupportedModelError
from usmp.tvm018 import ACCEPTED, MAIN_FLAGS, MAPPED, MODEL_FILES, REFUSED, OldName
from usmp.tvm018.compile_flags import COMPILE_FLAGS
from usmp.tvm018.old_name import NO_VALUE, OPTIONAL_TRUTH

ROWS = (*MAIN_FLAGS, *COMPILE_FLAGS)
WITHOUT_FUSION = "--disabled-pass=FuseOps"
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


def test_the_line_without_the_flag_is_what_the_row_says():
    check_all({f"{index} {named(row)}": (row,) for index, row in enumerate(ROWS)}, check_line)


def check_line(row: OldName) -> None:
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


@pytest.mark.slow
def test_accepted_flags_change_nothing(compiled):
    elsewhere = ("*.onnx", "*.pt2")
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


@pytest.mark.slow
def test_runtime_cpp_goes_with_packed_functions_and_crt_with_c(compiled, model, capfd):
    archive, notes = compiled("--runtime", "cpp", PACKED)
    assert (archive, notes) == (compiled(PACKED)[0], [])
    assert compiled("--runtime=crt", "--executor-aot-interface-api=c") == compiled()
    for flags, reason in (
        (["--runtime=cpp"], 'Runtime("cpp"), interface-api c: '),
        (["--runtime=crt", PACKED], 'Runtime("crt"), interface-api packed: '),
        (["--runtime=crt", "--target=c -interface-api=packed"], 'Runtime("crt"), interface-api pa'),
        (["--runtime=rpc"], 'unknown runtime "rpc". The C needs none. Runtimes: crt, cpp'),
    ):
        assert tvmc.main(["compile", str(model), *flags]) == 1
        assert reason in message_of(capfd.readouterr().err)


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if row.verdict == MAPPED], ids=named)
def test_a_mapped_flag_is_what_the_other_says(compiled, row):
    archive, notes = compiled(written(row, row.values[0]))
    assert archive == compiled(*row.to)[0]
    assert (archive != compiled()[0]) == (row.name != "--runtime")
    kind = "warning" if row.changes_meaning else "note"
    assert notes[0] == f"tvmc: {kind}: {row.sentence(row.values[0])}"
    # What takes the place of a flag may have a note of its own.
    assert len(notes) == (2 if "--disabled-pass=FuseOps" in row.to else 1)


@pytest.mark.slow
def test_passes_are_left_out(compiled):
    archive, notes = compiled("--disabled-pass", "FuseOps, AlterOpLayout")
    assert archive == compiled(WITHOUT_FUSION)[0] != compiled()[0]
    assert [note.split(": ")[2] for note in notes] == [
        "disabled_pass=FuseOps",
        "disabled_pass=AlterOpLayout",
    ]
    assert compiled("--disabled-pass=FuseOps", "--disabled-pass=AlterOpLayout") == (archive, notes)


def test_a_pass_that_is_needed(model, capfd):
    assert tvmc.main(["compile", str(model), "--disabled-pass=AssignPoolInfo"]) == 1
    assert "disabled_pass=AssignPoolInfo: there is no code without this pass" in (
        capfd.readouterr().err
    )


@pytest.mark.slow
def test_passes_are_timed_and_printed(model, tmp_path, capfd):
    path = str(tmp_path / "out.tar")
    flags = ["--print-pass-times", "--print-ir-after=[FuseRecordedOperators]", "-q"]
    assert tvmc.main(["compile", str(model), "-o", path, *flags]) == 0
    printed = capfd.readouterr().out
    assert re.search(r"^ *usmp.FuseRecordedOperators: \d+\.\d{3} ms$", printed, re.MULTILINE)
    assert printed.count("# IR after usmp.FuseRecordedOperators\n") == 1
    assert tvmc.main(["compile", str(model), "-o", path, "--print-ir-before=tir.Gone"]) == 1
    assert "pass tir.Gone did not run" in capfd.readouterr().err


@pytest.mark.slow
def test_refused_flags_are_one_error(model, tmp_path, capfd):
    path = tmp_path / "out.tar"
    flags = ["--executor=graph", "-f", "so", "--runtime-crt-system-lib", "1"]
    assert tvmc.main(["compile", str(model), "-o", str(path), *flags]) == 1
    message = message_of(capfd.readouterr().err)
    assert re.findall(r"(?:^|; )(-[^:]+):", message) == [
        "--executor=graph",
        "-f so",
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


def test_help_has_the_flags_that_reasons_name_and_none_of_the_old_ones(capfd):
    with pytest.raises(SystemExit):
        tvmc.main(["compile", "--help-all"])
    flags = set(re.findall(r"-[-a-z]+", capfd.readouterr().out))
    gone = {row.name for row in ROWS if row.verdict != REFUSED or not row.values}
    assert flags & gone <= {"--workspace-pools", "--executor"}
    advised = {flag for row in ROWS for flag in re.findall(r"(?<!\S)--[a-z-]+", row.reason)}
    own = {row.name for row in ROWS}
    assert advised - own - flags <= {"--operators", "--print-before", "--print-after"} | {
        "--list-passes"
    }
    for row in ROWS:
        for page in re.findall(r"docs/\S+\.md", row.reason):
            assert (ROOT / page).is_file()
