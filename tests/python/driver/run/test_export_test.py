"""`tvmc export-test`: its options, what its runs are, and what it writes."""

from __future__ import annotations

import argparse
import io
import os
import tarfile
from types import SimpleNamespace

import numpy as np
import pytest

from support.archived_views import entry, module, pool, tensor
from usmp.device.golden_runs import GoldenRun
from usmp.driver.errors import UsageError
from usmp.driver.run import export_test as command
from usmp.driver.run.export_test import add_export_test_parser
from usmp.runtime import HostEntry

NET = module([entry([], [tensor("y", (1,))])], name="net")
BOTH = module([entry(name="a"), entry(name="b")], name="both")
TENSOR = {"shape": [2], "dtype": "int8", "size": 2, "c_name": "x"}


def parsed(*arguments):
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_export_test_parser(parser.add_subparsers())
    return parser.parse_args(["export-test", "model.tar", *map(str, arguments)])


def refusal(function, *arguments):
    with pytest.raises(UsageError) as error:
        function(*arguments)
    return str(error.value)


def test_options_have_defaults():
    options = parsed()
    assert (options.inputs, options.expected, options.extra_source) == ([], [], [])
    assert (options.runs, options.seed, options.output) == (None, 0, None)


@pytest.mark.parametrize(
    ("option", "values"), [("runs", ("1", "10000")), ("seed", ("0", "4294967295"))]
)
def test_numbers_have_a_range(option, values):
    for value in values:
        assert getattr(parsed(f"--{option}", value), option) == int(value)
    for value in (int(values[0]) - 1, int(values[1]) + 1):
        with pytest.raises((argparse.ArgumentError, SystemExit)):
            parsed(f"--{option}={value}")


def test_each_run_has_expected_outputs():
    message = refusal(command._check_options, parsed("--expected=e.npz"), "out")
    assert message.startswith("--expected is given 1 times and --inputs 0; give one for each run")
    twice = parsed("-i", "a.npz", "-i", "b.npz", "--expected=e.npz")
    assert "1 times and --inputs 2" in refusal(command._check_options, twice, "out")


def test_random_runs_have_no_inputs():
    message = refusal(command._check_options, parsed("--runs=2", "-i", "a.npz"), "out")
    assert message.startswith("--runs is for random inputs")


def test_a_folder_or_a_tar_is_written(tmp_path):
    def check(path):
        command._check_options(options, str(path))

    options = parsed("-i", "a.npz", "--expected=e.npz")
    options.FILE = str(tmp_path / "model.tar")
    for name in ("out", "out.tar", "."):
        check(tmp_path / name)
    check(tmp_path)
    (tmp_path / "file").touch()
    message = refusal(check, tmp_path / "file")
    assert "a file, no folder; name a folder, or a file that ends in .tar" in message
    for name in ("none/out", "none/out.tar"):
        assert str(tmp_path / name) in refusal(check, tmp_path / name)
    (tmp_path / "model.tar").touch()
    assert "model.tar" in refusal(check, tmp_path / "model.tar")


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK | os.X_OK)
    message = refusal(command._check_options, parsed(), str(tmp_path))
    assert message == f"{tmp_path}: cannot be written (Permission denied)"


@pytest.mark.parametrize(
    ("value", "model", "expected"),
    [
        ("in.npz", NET, ("main", "in.npz")),
        ("main=in.npz", NET, ("main", "in.npz")),
        # Only the name of an entry ends at the sign.
        ("x=in.npz", NET, ("main", "x=in.npz")),
        ("b=in.npz", BOTH, ("b", "in.npz")),
        ("b=x=in.npz", BOTH, ("b", "x=in.npz")),
    ],
)
def test_inputs_may_name_their_entry(value, model, expected):
    assert command._named(value, model) == expected


def test_inputs_of_one_of_several_entries_name_it():
    message = refusal(command._named, "in put.npz", BOTH)
    assert message == (
        '--inputs in put.npz: model "both" has 2 entries ("a", "b"); say which, as in --inputs '
        "'a=in put.npz'"
    )
    assert "2 entries" in refusal(command._named, "b", BOTH)


def host_entries(model):
    mains = {name: {"inputs": {"x": TENSOR}, "outputs": {}} for name in model.entries}
    return {name: HostEntry.of(main) for name, main in mains.items()}


def runs_of(model, *arguments):
    return command._runs(parsed(*arguments), model, host_entries(model))


def test_each_entry_runs_once_or_as_often_as_is_asked():
    assert [name for name, *_ in runs_of(BOTH)] == ["a", "b"]
    assert [name for name, *_ in runs_of(BOTH, "--runs=2")] == ["a", "b", "a", "b"]
    kept = module([entry()], [pool("sram", state_bytes=4)])
    # The state of one run reaches the output of another.
    assert len(runs_of(kept)) == 3 and len(runs_of(kept, "--runs=1")) == 1


def test_random_inputs_follow_from_the_seed():
    def drawn(*arguments):
        return [inputs["x"].tolist() for _, inputs, _ in runs_of(NET, "--runs=4", *arguments)]

    assert drawn() == drawn("--seed=0") != drawn("--seed=1")
    assert len(set(map(tuple, drawn()))) > 1


def test_inputs_of_files_are_runs_in_their_order(tmp_path):
    for number in (1, 2):
        np.savez(tmp_path / f"{number}.npz", x=np.full(2, number, "int8"))
    given = [f"-ib={tmp_path / '1.npz'}", f"-ia={tmp_path / '2.npz'}"]
    found = [(name, inputs["x"].tolist()) for name, inputs, _ in runs_of(BOTH, *given)]
    assert found == [("b", [1, 1]), ("a", [2, 2])]


def test_a_size_of_another_entry_is_no_error_and_an_unknown_one_is():
    sized = {
        "inputs": {"x": {**TENSOR, "symbolic_shape": ["n"], "symbolic_shape_text": "[n]"}},
        "outputs": {},
        "sizes": {"n": {"c_name": "n", "min": 1, "max": 2}},
    }
    plain = {"inputs": {"x": TENSOR}, "outputs": {}}
    entries = {"a": HostEntry.of(sized), "b": HostEntry.of(plain)}
    found = command._runs(parsed("--size=n=2"), BOTH, entries)
    assert [dict(sizes) for *_, sizes in found] == [{"n": 2}, {}]
    with pytest.raises(ValueError, match="m"):
        command._runs(parsed("--size=m=2"), BOTH, entries)


def golden(*outputs, inputs=()):
    named = [
        {f"t{n}": np.zeros(size, "int8") for n, size in enumerate(side)}
        for side in (inputs, outputs)
    ]
    return GoldenRun("main", {}, *named)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([golden(4, inputs=[8])], "1 run, 1 output, 12 bytes of constants"),
        ([golden(4, 2), golden(1)], "2 runs, 3 outputs, 7 bytes of constants"),
        ([golden()], "1 run, 0 outputs, 0 bytes of constants"),
    ],
)
def test_runs_are_summed_up(runs, expected):
    assert command._told(runs) == expected


def test_files_are_written_to_a_folder_or_a_tar(tmp_path):
    files = {"a.c": b"1", "b/c.h": b"2"}
    command._write(str(tmp_path / "out"), files)
    assert (tmp_path / "out/b/c.h").read_bytes() == b"2"
    # Once more, into what is there.
    command._write(str(tmp_path / "out"), files)
    command._write(str(tmp_path / "out.tar"), files)
    with tarfile.open(tmp_path / "out.tar") as tar:
        assert sorted(tar.getnames())[0].endswith("a.c")


@pytest.mark.parametrize("is_new", [False, True])
def test_a_new_folder_is_removed_if_nothing_was_written(tmp_path, monkeypatch, is_new):
    def fail(files, folder):
        raise RuntimeError("full")

    monkeypatch.setattr("usmp.runtime.write_files.replace_files", fail)
    folder = tmp_path / "out"
    if not is_new:
        folder.mkdir()
    with pytest.raises(RuntimeError, match="full"):
        command._write(str(folder), {"a.c": b""})
    assert folder.exists() is not is_new


@pytest.mark.parametrize(("quiet", "output"), [(False, None), (True, "tests")])
def test_the_command_says_what_it_wrote(tmp_path, monkeypatch, capsys, quiet, output):
    import usmp.device.device_files
    import usmp.device.testable_module
    import usmp.runtime

    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.tar").touch()
    archive = SimpleNamespace(module=lambda name: NET, code=lambda name: b"")
    monkeypatch.setattr(usmp.runtime, "load_archive", lambda path: archive)
    monkeypatch.setattr(usmp.device.testable_module, "check_testable", lambda module: None)
    monkeypatch.setattr(usmp.device.device_files, "device_files", lambda *_: {"a.c": b""})
    monkeypatch.setattr(command, "_golden_runs", lambda *_: ([golden(4)], "From here."))
    options = parsed(*(["--quiet"] if quiet else []), *(["-o", output] if output else []))
    options.stderr = io.StringIO()
    command.export_test(options)
    assert (tmp_path / (output or "model_test") / "a.c").exists()
    told = (
        "model_test: 1 files; 1 run, 1 output, 4 bytes of constants\n"
        "RAM of the test without the stack: 1 bytes of the model (memory pools 0, outputs 1), none "
        "of its own.\nFrom here.\n"
    )
    assert capsys.readouterr().out == ("" if quiet else told)
