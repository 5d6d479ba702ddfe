"""`tvmc run`: inputs, outputs, and what can be wrong with them and with the archive."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tvm import relax

import usmp
from support.archives import write_tar
from support.dynamic_programs import MOST, Net, built
from support.entry_models import Entries, entry_model
from support.micro import Micro
from support.relax_models import PARAMS, Attention
from usmp.driver.run.tensors import save_tensors

pytestmark = pytest.mark.cc

SHAPE = (1, 8, 8, 1)
INPUTS = "image: int8[1, 8, 8, 1]"


def edited_archive(archive: Path, path: Path, change) -> Path:
    """A copy of the archive after `change` of its files: name -> content."""
    with tarfile.open(archive) as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar}
    change(files)
    return write_tar(path, files)


def save(**arrays: np.ndarray) -> str:
    np.savez("in.npz", **arrays)
    return "in.npz"


def test_outputs_are_those_of_the_model(tvmc, digits_archive, small_digits_model, digits_images):
    images, _ = digits_images
    assert tvmc("run", digits_archive, "-i", save(image=images[:1]), "-o", "out.npz").status == 0
    with np.load("out.npz") as outputs:
        assert outputs["probabilities"].dtype == np.int8
        expected = Micro(small_digits_model).run({"image": images[:1]})
        assert np.array_equal(outputs["probabilities"], expected["probabilities"])


def test_outputs_are_printed_if_no_file_is_named(tvmc, digits_archive):
    outcome = tvmc("run", digits_archive, "--fill-mode=zeros")
    first, second = outcome.stdout.splitlines()
    assert first == "probabilities: int8[1, 10]"
    assert len(second.strip("[]").split()) == 10


@pytest.mark.parametrize("mode", ["zeros", "ones"])
def test_fill_mode_is_the_value_of_missing_inputs(tvmc, digits_archive, mode):
    given = save(image=np.full(SHAPE, {"zeros": 0, "ones": 1}[mode], np.int8))
    assert (
        tvmc("run", digits_archive, "--fill-mode", mode).stdout
        == tvmc("run", digits_archive, "-i", given).stdout
    )


def test_random_inputs_are_the_default_and_always_the_same(tvmc, digits_archive):
    outputs = [tvmc("run", digits_archive).stdout for _ in range(2)]
    outputs.append(tvmc("run", digits_archive, "--fill-mode=random").stdout)
    assert len(set(outputs)) == 1
    assert outputs[0] != tvmc("run", digits_archive, "--fill-mode=zeros").stdout


def test_outputs_keep_names_that_numpy_savez_cannot_take(tvmc):
    x = relax.Var("x", relax.TensorType((1, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            results = [builder.emit_output(relax.op.add(x, x)), builder.emit_output(x)]
        builder.emit_func_output(relax.Tuple(results))
    mod = builder.get()
    names = ["file", "scope/y:0"]
    main = mod["main"].with_attr("output_names", names)
    mod.update_func(mod.get_global_var("main"), main)
    usmp.build(mod).export_model_library_format("model.tar")
    assert tvmc("run", "model.tar", "--fill-mode=ones", "-o", "out.npz").status == 0
    with np.load("out.npz") as outputs:
        assert outputs.files == [*names, "output_0", "output_1"]
        assert [float(outputs[name].max()) for name in outputs.files] == [2.0, 1.0, 2.0, 1.0]


def test_output_to_a_device_leaves_the_device(tvmc, digits_archive):
    assert tvmc("run", digits_archive, "-o", "/dev/null").status == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("missing/out.npz", "No such file or directory"),
        ("folder", "Is a directory"),
        ("/dev/full", "No space left on device"),
    ],
)
def test_unwritable_outputs(refused, digits_archive, output, reason):
    Path("folder").mkdir()
    assert refused("run", digits_archive, "-o", output) == f"{output}: cannot be written ({reason})"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"other": np.zeros(SHAPE, np.int8)},
            f'the model has no input "other". Its inputs: {INPUTS}',
        ),
        (
            {"image": np.zeros(SHAPE, np.float32)},
            'input "image" is float32[1, 8, 8, 1]; the model takes int8[1, 8, 8, 1]',
        ),
        (
            {"image": np.zeros((8, 8), np.int8)},
            'input "image" is int8[8, 8]; the model takes int8[1, 8, 8, 1]',
        ),
        (
            {"image": np.zeros(SHAPE, ">i2")},
            'input "image" is >i2[1, 8, 8, 1]; the model takes int8[1, 8, 8, 1]',
        ),
        (
            {"image": np.array([{}], object)},
            "in.npz: not an .npz file of arrays (Object arrays cannot be loaded when "
            "allow_pickle=False)",
        ),
    ],
    ids=["unknown", "dtype", "shape", "byte-order", "pickled"],
)
def test_wrong_inputs(refused, digits_archive, arrays, message):
    Path("out.npz").write_bytes(b"older outputs")
    assert refused("run", digits_archive, "-i", save(**arrays), "-o", "out.npz") == message


def npy() -> bytes:
    content = io.BytesIO()
    np.save(content, np.zeros(SHAPE, np.int8))
    return content.getvalue()


def zip_of(name: str, member: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(name, member)
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy(), "it holds one array without a name; use numpy.savez"),
        (b"", "write it with numpy.savez"),
        (b"text", "write it with numpy.savez"),
        (zip_of("image.npy", npy())[:-30], "File is not a zip file"),
        (zip_of("image.npy", npy()[:-9]), "EOF: reading array data, expected 64 bytes got 55"),
    ],
    ids=["npy", "empty", "text", "truncated", "damaged-member"],
)
def test_inputs_that_are_no_npz(refused, digits_archive, content, reason):
    Path("in.npz").write_bytes(content)
    message = refused("run", digits_archive, "-i", "in.npz")
    assert message.startswith(f"in.npz: not an .npz file of arrays ({reason}")


def test_outputs_must_not_be_a_file_that_is_read(refused, digits_archive):
    archive, inputs = Path("model.tar"), Path("in.npz")
    archive.write_bytes(digits_archive.read_bytes())
    save(image=np.zeros(SHAPE, np.int8))
    command = ("run", archive, "--inputs", inputs, "--outputs")
    assert refused(*command, "./model.tar") == (
        "./model.tar: the outputs would overwrite the archive"
    )
    assert refused(*command, inputs.resolve()) == (
        f"{inputs.resolve()}: the outputs would overwrite the inputs"
    )
    assert refused(*command, "") == "the path for the outputs is empty; name a file"


def test_missing_inputs_file(refused, digits_archive):
    assert refused("run", digits_archive, "-i", "no.npz") == "no.npz: No such file or directory"


def test_unknown_fill_mode(refused, digits_archive):
    assert refused("run", digits_archive, "--fill-mode=twos").startswith(
        'argument --fill-mode: invalid choice "twos"'
    )


def test_archive_of_which_the_c_does_not_compile(refused, digits_archive):
    def damage(files):
        files["./codegen/host/src/default_lib0.c"] += b"\n#error broken\n"

    path = edited_archive(digits_archive, Path("model.tar"), damage)
    message = refused("run", path)
    assert message.startswith("C compiler cc failed with exit status 1: ")
    assert "#error broken" in message


def test_archive_of_which_the_c_has_no_entry_point(refused, digits_archive):
    def damage(files):
        files["./codegen/host/src/default_lib0.c"] = b"int nothing;\n"

    path = edited_archive(digits_archive, Path("model.tar"), damage)
    message = refused("run", path)
    assert message.startswith("the built model cannot be loaded on this host: ")
    assert "tvmgen_default_run" in message


def test_damaged_archive(refused, digits_archive):
    Path("model.tar").write_bytes(digits_archive.read_bytes()[:5000])
    assert refused("run", "model.tar") == "model.tar: not a tar archive, or a damaged one"


@pytest.mark.slow
def test_archive_of_several_models(tvmc, refused):
    models = [usmp.build(Attention, params=PARAMS, module_name=name) for name in ("a", "b")]
    usmp.export_model_library_format(models, "models.tar")
    assert refused("run", "models.tar") == (
        'the archive holds 2 modules; choose one by its name: "a", "b"'
    )
    assert refused("run", "models.tar", "--module-name=c") == (
        'the archive holds no module "c". Its modules: a, b'
    )
    outcome = tvmc("run", "models.tar", "--module-name", "b")
    assert outcome.stdout.startswith("output: float32[1, 64]\n")


@pytest.fixture
def entries_archive() -> str:
    """`learn`, `tell` and `plain`, of which each takes `x`."""
    usmp.build(entry_model()).export_model_library_format("entries.tar")
    return "entries.tar"


@pytest.mark.slow
def test_one_of_several_entries(tvmc, entries_archive):
    values = {"learn": np.ones((1, 8)), "tell": np.ones((1, 8)), "plain": np.ones((3, 8))}
    for entry, x in values.items():
        given = save(x=x.astype(np.float32))
        command = ("run", entries_archive, "--entry", entry, "-i", given, "-o", "out.npz")
        outcome = tvmc(*command)
        assert (outcome.status, outcome.stderr) == (0, "")
        with np.load("out.npz") as outputs:
            for name, expected in Entries().run(x, entry).items():
                np.testing.assert_allclose(outputs[name], expected, rtol=1e-5)


@pytest.mark.slow
def test_files_are_for_tensors_of_the_entry(tvmc, refused, entries_archive):
    np.save("x.npy", np.ones((3, 8), np.float32))
    command = ("run", entries_archive, "-i", "x.npy", "-o")
    plain = "--entry=plain"
    assert tvmc(*command, "largest=largest.bin", "-o", "y=y.npy", plain).status == 0
    expected = Entries().run(np.load("x.npy"), "plain")
    np.testing.assert_allclose(np.fromfile("largest.bin", np.float32), expected["largest"], 1e-5)
    np.testing.assert_allclose(np.load("y.npy"), expected["y"], 1e-5)
    assert refused(*command, "largest=other.bin", "--entry=tell") == (
        '--outputs largest=other.bin: the model has no output "largest". Its outputs: y'
    )
    assert refused(*command, "other.bin", plain) == (
        "--outputs other.bin: the model has 2 outputs (y, largest); say which, as in "
        "--outputs y=other.bin"
    )
    assert refused(*command, "y.npz", "--entry=tell") == (
        'input "x" is float32[3, 8]; the model takes float32[1, 8]'
    )


@pytest.mark.slow
def test_an_entry_that_there_is_not(refused, entries_archive, digits_archive, monkeypatch):
    monkeypatch.setenv("CC", "/nonexistent")
    several = 'model "default" has 3 entries; choose one with --entry: "learn", "tell", "plain"'
    for tensors in ([], ["-o", "out.npz"]):
        assert refused("run", entries_archive, *tensors) == several
        assert refused("run", entries_archive, "--entry=\x1b[m", *tensors) == (
            'model "default" has no entry "\\x1b[m". Its entries: learn, tell, plain'
        )
    assert refused("run", digits_archive, "--entry", "digits") == (
        'model "default" has no entry "digits". Its entries: main'
    )


def test_the_only_entry_may_be_named(tvmc, digits_archive):
    only = tvmc("run", digits_archive)
    assert only.status == 0
    assert tvmc("run", digits_archive, "--entry=main") == only


def test_archive_without_inputs(refused, digits_archive):
    def damage(files):
        metadata = json.loads(files["./metadata.json"])
        del metadata["modules"]["default"]["memory"]["functions"]["main"][0]["inputs"]
        files["./metadata.json"] = json.dumps(metadata).encode()

    edited_archive(digits_archive, Path("model.tar"), damage)
    assert refused("run", "model.tar") == (
        'model.tar: metadata.json is damaged: module "default" lacks its inputs, outputs or pools'
    )


def test_no_c_compiler(refused, digits_archive, monkeypatch):
    monkeypatch.setenv("CC", "/nonexistent")
    assert refused("run", digits_archive) == (
        "C compiler /nonexistent cannot be started (No such file or directory); install one "
        "(apt-get install gcc) or name one in the environment variable CC"
    )


def test_c_compiler_that_fails(refused, digits_archive, monkeypatch):
    monkeypatch.setenv("CC", "false")
    assert refused("run", digits_archive) == (
        "C compiler false failed with exit status 1: (it printed nothing)"
    )


def test_c_compiler_with_an_endless_message(refused, digits_archive, monkeypatch, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\nseq 100000 >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    message = refused("run", digits_archive)
    assert len(message) < 1100
    assert message.endswith(" ... 100000")


def test_outputs_whose_names_no_file_can_have(tvmc):
    """An .npz file is a folder to programs that unpack it."""
    names = ["../../up", "a\nb", "n" * 300, "/deep/y", "_______up"]
    save_tensors("out.npz", {name: np.zeros(1) for name in names})
    with np.load("out.npz") as outputs:
        first, second, third, *others = outputs.files
    assert (first, second, others) == ("______up", "a_b", ["/deep/y", "_______up"])
    assert third.startswith("nnn") and len(third) == 128


def test_an_arena_for_models_that_allocate(tvmc):
    built(Net).export_model_library_format("net.tar")
    given = save(x=np.arange(MOST, dtype="int8"), count=np.array([50], "int32"))
    outcome = tvmc("run", "net.tar", "-i", given, "-o", "out.npz", "--arena-bytes=1K")
    assert outcome.status == 0
    with np.load("out.npz") as outputs:
        assert np.array_equal(outputs["y"][:50], np.arange(4, 54))
    assert tvmc("run", "net.tar", "-i", given, "-o", "out.npz").status == 0
    outcome = tvmc("run", "net.tar", "-i", given, "--arena-bytes=100")
    assert outcome.status == 1
    assert outcome.stderr.startswith(
        "tvmc: error: model net needs an arena of at least 496 bytes for these inputs, but has one "
        "of 100;\n  give it more (tvmc run --arena-bytes 496"
    )


@pytest.mark.parametrize("value", ["-1", "many", "9223372036854775808"])
def test_an_arena_of_no_size(value, tvmc, digits_archive):
    outcome = tvmc("run", digits_archive, f"--arena-bytes={value}")
    assert outcome.status != 0
    assert f"argument --arena-bytes: must be bytes, such as 4096, 0x400 or 64K, not {value}" in (
        outcome.stderr
    )
