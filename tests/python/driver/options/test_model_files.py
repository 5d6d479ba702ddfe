"""The model files of a command line: their names, and what is said of several."""

from __future__ import annotations

import argparse
import io
import os

import pytest

from usmp.driver.errors import UsageError
from usmp.driver.options.model_files import (
    ModelFile,
    add_entry_options,
    add_files_option,
    check_is_none_of,
    check_model_files,
    concurrent_entries,
    import_models,
    model_files,
    note_one_program,
)


def parsed(*arguments, needs_model=True):
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_files_option(parser, needs_model)
    add_entry_options(parser)
    return parser.parse_args([str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.tflite", "b.onnx", "c=d.tflite"):
        (tmp_path / name).touch()
    return tmp_path


def refusal(function, *arguments):
    with pytest.raises(UsageError) as error:
        function(*arguments)
    return str(error.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.tflite", ModelFile("a.tflite")),
        ("net=a.tflite", ModelFile("a.tflite", "net")),
        ("net=x=y.onnx", ModelFile("x=y.onnx", "net")),
        # A path may have the sign, too.
        ("c=d.tflite", ModelFile("c=d.tflite")),
        (f"dir{os.sep}x=y.onnx", ModelFile(f"dir{os.sep}x=y.onnx")),
        ("net=", ModelFile("net=")),
        ("=a.tflite", ModelFile("a.tflite", "")),
    ],
)
def test_a_name_may_precede_a_file(files, value, expected):
    assert model_files(parsed(value)) == [expected]
    assert ModelFile("a.TFLite").ending == ".tflite"


def test_a_model_may_be_needed():
    assert parsed(needs_model=False).FILE == []
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        parsed()
    assert parsed("a").shared_state is False and parsed("a", "--shared-state").shared_state is True


def test_a_file_that_is_missing_is_refused(files):
    check_model_files(parsed("a.tflite", "b.onnx"))
    assert "none.onnx" in refusal(check_model_files, parsed("a.tflite", "none.onnx"))


def test_states_are_shared_by_several(files):
    message = refusal(check_model_files, parsed("a.tflite", "--shared-state"))
    assert message.startswith("--shared-state is about states of several models")
    check_model_files(parsed("a.tflite", "b.onnx", "--shared-state"))
    check_model_files(parsed("--shared-state", needs_model=False))


@pytest.mark.parametrize("value", ["a", "a,a", "a,", ",a,b", "a, b,a"])
def test_entries_that_run_at_once_are_two_or_more(files, value):
    message = refusal(check_model_files, parsed("a.tflite", f"--concurrent={value}"))
    assert message.startswith(f"--concurrent {value}: name two or more entries, each once")


def test_entries_that_run_at_once_are_named_by_commas(files):
    options = parsed("a.tflite", "--concurrent=a, b", "--concurrent=b,c,d")
    check_model_files(options)
    assert concurrent_entries(options) == [["a", "b"], ["b", "c", "d"]]


@pytest.mark.parametrize(
    ("shown_as", "quiet", "stdout", "stderr"),
    [
        ("text", False, "{}\n", ""),
        ("table", True, "{}\n", ""),
        ("markdown", False, "{}\n\n", ""),
        ("json", False, "", "{}\n"),
        (None, False, "", "{}\n"),
        ("json", True, "", ""),
    ],
)
def test_several_models_are_said_to_be_one_program(capsys, shown_as, quiet, stdout, stderr):
    line = (
        "2 models in one program: a.tflite, b.onnx; to ask about one of them alone, run tvmc "
        "check with one FILE"
    )
    options = parsed("a.tflite", "b.onnx")
    options.quiet, options.stderr = quiet, io.StringIO()
    note_one_program(options, "check", shown_as)
    assert capsys.readouterr().out == stdout.format(line)
    assert options.stderr.getvalue() == stderr.format(line)


def test_of_one_model_nothing_is_said(capsys):
    options = parsed("a.tflite")
    options.quiet, options.stderr = False, io.StringIO()
    note_one_program(options, "check", "text")
    assert capsys.readouterr().out == options.stderr.getvalue() == ""


def test_no_model_is_written_over(files):
    options = parsed("a.tflite", "net=b.onnx")
    check_is_none_of("out.tar", options, "the archive")
    for path in ("a.tflite", "b.onnx"):
        assert path in refusal(check_is_none_of, path, options, "the archive")


def importing(monkeypatch, *arguments, known=None):
    """What is imported, how, and the stages."""
    import usmp
    from usmp.driver.options import model_files as module
    from usmp.frontend import dynamic_sizes, model_file

    calls, stages = [], []
    options = {"max_sizes": {}, "input_shapes": {}, **(known or {})}
    monkeypatch.setattr(module, "import_arguments", lambda _: dict(options))
    monkeypatch.setattr(usmp, "import_model", lambda *a, **k: calls.append((a, k)) or "module")
    monkeypatch.setattr(dynamic_sizes.AskedSizes, "check_all_known", lambda self: None)
    monkeypatch.setattr(
        model_file, "import_with_sizes", lambda path, asked, **k: (path, asked.is_for_one_model, k)
    )
    return import_models(parsed(*arguments), stages.append), calls, stages


def test_one_model_is_imported_alone(monkeypatch):
    found, calls, stages = importing(monkeypatch, "a.tflite")
    assert found == "module" and stages == ["reading a.tflite"]
    assert calls == [(("a.tflite",), {"max_sizes": {}, "input_shapes": {}})]


def test_several_models_are_imported_by_name(monkeypatch):
    arguments = ("a.tflite", "net=b.onnx", "c-d.onnx")
    found, calls, stages = importing(monkeypatch, *arguments, known={"more": 1})
    assert found == {
        "a": ("a.tflite", False, {"more": 1}),
        "net": ("b.onnx", False, {"more": 1}),
        "c_d": ("c-d.onnx", False, {"more": 1}),
    }
    assert calls == [] and stages == [f"reading {n}" for n in ("a.tflite", "b.onnx", "c-d.onnx")]
    one, _, _ = importing(monkeypatch, "net=a.tflite")
    assert one == {"net": ("a.tflite", True, {})}


def test_methods_with_one_state_are_imported_together(monkeypatch):
    found, calls, stages = importing(monkeypatch, "a.pt2", "n=b.PT2", "--shared-state")
    assert found == "module" and stages == ["reading a.pt2, b.PT2"]
    assert calls[0][0] == ({"a": "a.pt2", "n": "b.PT2"},)
    for arguments in (("a.pt2", "b.pt2"), ("a.pt2", "b.onnx", "--shared-state")):
        _, calls, _ = importing(monkeypatch, *arguments)
        assert calls == []


def test_two_models_of_one_name_are_refused(monkeypatch):
    with pytest.raises(UsageError) as error:
        importing(monkeypatch, "x/a.tflite", "a.onnx")
    assert str(error.value) == (
        'x/a.tflite and a.onnx: both models are called "a"; name them, as in a=x/a.tflite '
        "a_2=a.onnx"
    )
