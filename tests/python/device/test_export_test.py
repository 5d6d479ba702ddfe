"""`tvmc export-test`: what it writes compiles strictly, and tells right outputs from wrong ones."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support.archives import relu_archive
from support.compilers import require, run_compiler
from support.device_programs import SELF_TEST, STRICT, build_program, self_test
from support.entry_models import entry_model
from support.relax_models import PARAMS, Attention
from support.small_digits import small_convolutions
from support.state_models import streaming_model
from support.symbolic_models import build_symbolic
from usmp import ConstantMemoryPools, ConstantPoolInfo, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.codegen.model_library_format import write_archive
from usmp.driver.tvmc import main
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import load_archive
from usmp.runtime.reference import REFERENCE

pytestmark = pytest.mark.cc


def built(mod, folder, options=(), **arguments):
    with PassContext(config={f"tir.usmp.{name}": value for name, value in dict(options).items()}):
        factory = usmp.build(mod, **arguments)
    return written(factory, folder)


def written(factory, folder):
    factory.export_model_library_format(folder / "model.tar")
    return folder / "model.tar"


@pytest.fixture(scope="module")
def convolutions(tmp_path_factory):
    """A model with all that its application can provide: pools, rows, an output."""
    folder = tmp_path_factory.mktemp("convolutions")
    pools = {
        "workspace_memory_pools": WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"])]),
        "constant_memory_pools": ConstantMemoryPools([ConstantPoolInfo("flash", ["c"])]),
    }
    options = {"stream_inputs": ["image"], "use_workspace_io": True}
    return built(import_tflite(small_convolutions()), folder, options, **pools)


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """A float model that keeps states."""
    return built(streaming_model(), tmp_path_factory.mktemp("states"))


def exported(archive, folder, *arguments):
    """The folder that the command writes."""
    assert main(["export-test", str(archive), "-o", str(folder), "-q", *arguments]) == 0
    return folder


def test_pools_and_rows_of_the_application(convolutions, tmp_path):
    assert (
        self_test(convolutions, exported(convolutions, tmp_path / "test", "--runs=2"), tmp_path)
        == 0
    )


def test_several_runs_with_state(states, tmp_path):
    """Each run finds what the one before left, and the test finds nothing of what was before it."""
    program = build_program(
        states,
        exported(states, tmp_path / "test"),
        SELF_TEST.replace("  printf", "  {prefix}_self_test();\n  printf"),
        tmp_path,
    )
    assert subprocess.run([program], check=True, capture_output=True).stdout == b"0"
    comment = (tmp_path / "test/tvmgen_default_self_test.c").read_text()
    assert '-3 if run 3, of entry "main", fails\n *   5 if its output "y" is another' in comment


@pytest.mark.slow
def test_several_entries(tmp_path):
    archive = built(entry_model(), tmp_path, {"use_workspace_io": True})
    assert self_test(archive, exported(archive, tmp_path / "test"), tmp_path) == 0


def test_symbolic_sizes(tmp_path):
    archive = written(build_symbolic(), tmp_path)
    np.savez(tmp_path / "in.npz", x=np.ones((1, 5, 4), np.float32))
    test = exported(archive, tmp_path / "test", f"--inputs={tmp_path / 'in.npz'}")
    assert "sizes_0[] = {5}" in (test / "tvmgen_default_self_test.c").read_text()
    assert self_test(archive, test, tmp_path) == 0


def test_float16(model, tmp_path):
    """A unit in the last place passes, two do not."""
    relu = model(lambda b, x: relax.op.nn.relu(x), ("x", (4,), "float16"))
    archive = built(relu, tmp_path)
    x = np.array([1.0, -3.0e-5, np.inf, 2.5], np.float16)
    np.savez(tmp_path / "in.npz", x=x)
    found = []
    for ulps in (0, 1, 2):
        bits = np.maximum(x, 0).view(np.uint16) + np.array([0, 0, 0, ulps], np.uint16)
        np.savez(tmp_path / "out.npz", output=bits.view(np.float16))
        files = [f"--inputs={tmp_path / 'in.npz'}", f"--expected={tmp_path / 'out.npz'}"]
        test = exported(archive, tmp_path / f"test{ulps}", *files)
        found.append(self_test(archive, test, tmp_path))
    assert found == [0, 0, 1]


def test_files_of_another_test_in_the_folder_are_named(tvmc, states, tmp_path):
    others = ["tvmgen_my_fw_device_memory.c", "tvmgen_my_fw_self_test.c"]
    folder = tmp_path / "test"
    folder.mkdir()
    for name in (*others, "main.c", "tvmgen_default.h", "tvmgen_my_fw_device.c.orig"):
        (folder / name).write_text("")
    last = tvmc("export-test", states, "-o", folder).stdout.splitlines()[-1]
    assert last == (
        f"{folder} has 2 files that this test does not need: {', '.join(others)}; delete them, or "
        "export to another folder."
    )
    assert all((folder / name).exists() for name in others)
    (folder / others[0]).unlink()
    last = tvmc("export-test", states, "-o", folder).stdout.splitlines()[-1]
    assert last.endswith(
        f" has a file that this test does not need: {others[1]}; delete it, or "
        "export to another folder."
    )
    (folder / others[1]).unlink()
    assert "not need" not in tvmc("export-test", states, "-o", folder).stdout


@pytest.mark.slow
def test_outputs_that_are_not_as_expected_are_numbered(states, tmp_path):
    """Floats within the tolerance pass; the first other output of two runs is told."""
    generator = np.random.default_rng(3)
    host = load_archive(states).load()
    outputs = []
    for number in range(2):
        inputs = {"x": generator.standard_normal((1, 8)).astype(np.float32)}
        outputs.append(host.run(inputs))
        np.savez(tmp_path / f"in{number}.npz", **inputs)
    inputs = [f"--inputs={tmp_path / f'in{number}.npz'}" for number in range(2)]

    def returned(y=0.0, z=0, at=(1, "y")):
        run, name = at
        changed = [dict(each) for each in outputs]
        changed[run][name] = (
            changed[run][name] * np.float32(1 + y)
            if name == "y"
            else (changed[run][name] + np.int32(z)).astype(changed[run][name].dtype)
        )
        for number, each in enumerate(changed):
            np.savez(tmp_path / f"out{number}.npz", **each)
        expected = [f"--expected={tmp_path / f'out{number}.npz'}" for number in range(2)]
        test = exported(states, tmp_path / "test", *inputs, *expected)
        return self_test(states, test, tmp_path)

    assert returned(y=5e-5) == 0
    assert returned(y=3e-3) == 3
    assert returned(z=1, at=(0, "z")) == 2


def test_a_run_that_fails_is_told(states, tmp_path):
    """A program in which the second run returns a status."""
    test = exported(states, tmp_path / "test")
    device = test / "tvmgen_default_device.c"
    text = device.read_text()
    failing = text.replace(
        "  return tvmgen_default_run(",
        "  static int runs = 0;\n  if (runs++ == 1) return -3;\n  return tvmgen_default_run(",
    )
    assert failing != text
    device.write_text(failing)
    assert self_test(states, test, tmp_path) == -2


def compile_strictly(compiler, archive, folder):
    """The tests above have compiled all that was written for a test with $CC, as strictly."""
    require(compiler[0])
    test = exported(archive, folder / "test")
    load_archive(archive).extract(folder)
    include = [f"-I{folder / 'codegen/host/include'}", f"-I{test}"]
    command = [*compiler, *STRICT, *include, "-c", *map(str, sorted(test.glob("*.c")))]
    run_compiler(command, cwd=folder)


@pytest.mark.slow
def test_clang(convolutions, tmp_path):
    compile_strictly(["clang"], convolutions, tmp_path)


def test_another_archive_does_not_compile(states, tmp_path):
    """The files of a test say which sizes they are for."""
    archive = relu_archive(tmp_path)
    test = exported(archive, tmp_path / "test")
    with pytest.raises(usmp.runtime.BuildError, match="_SIZE"):
        self_test(states, test, tmp_path)


def test_the_folder_and_the_tar_hold_the_same(tvmc, states):
    assert tvmc("export-test", states, "-o", "test.tar").stdout == (
        "test.tar: 11 files; 3 runs, 6 outputs, 216 bytes of constants\n"
        "RAM of the test without the stack: 313 bytes of the model (memory pools 273, outputs 40), "
        "none of its own.\n"
        "The outputs to expect are not independent: this host ran the archive's own code, since "
        "the archive has no reference build (compile the model again, with --reference). Give "
        "independent ones with --expected.\n"
    )
    assert tvmc("export-test", states, "--quiet").stdout == ""
    with tarfile.open("test.tar") as tar:
        held = {m.name.removeprefix("./"): tar.extractfile(m).read() for m in tar.getmembers()}
    assert held == {path.name: path.read_bytes() for path in Path("model_test").iterdir()}


def test_the_outputs_to_expect_are_those_of_the_reference_build(tvmc, tmp_path, model):
    """The self test returns another number than 0 if the C of the archive is wrong."""
    relu = model(lambda b, x: relax.op.nn.relu(x), ("x", (4,), "int32"))
    archive = built(relu, tmp_path, reference=True)
    outcome = tvmc("export-test", archive, "-o", "test")
    assert outcome.stdout.splitlines()[2] == f"The outputs to expect are {REFERENCE}."
    assert self_test(archive, Path("test"), tmp_path) == 0
    files = load_archive(archive).files
    path = "codegen/host/src/default_lib0.c"
    assert files[path].count(b"(x[i0], 0);") == 1
    faulty = files[path].replace(b"(x[i0], 0);", b"(x[i0], 0) + 1;")
    write_archive({**files, path: faulty}, archive)
    assert tvmc("export-test", archive, "-o", "test").status == 0
    assert self_test(archive, Path("test"), tmp_path) == 1


def test_seeds(tvmc, states):
    texts = []
    for number, seed in enumerate((0, 1, 1)):
        assert tvmc("export-test", states, f"--seed={seed}", "-o", f"test{number}").status == 0
        with open(f"test{number}/tvmgen_default_self_test.c") as file:
            texts.append(file.read())
    assert texts[0] != texts[1] == texts[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--expected=x.npz"],
            "--expected is given 1 times and --inputs 0; give one for each run, ",
        ),
        (["--runs=2", "--inputs=x.npz"], "--runs is for random inputs; with --inputs each file "),
        (["--runs=0"], "argument --runs: must be a number from 1 to 10000, not 0. See tvmc exp"),
        (["--seed=-1"], "argument --seed: must be a number from 0 to 4294967295, not -1. See "),
        (["-o", "file"], "file: a file, no folder; name a folder, or a file that ends in .tar"),
        (["-o", "no/folder"], "no/folder: cannot be written (No such file or directory)"),
        (["--inputs=x.npz"], "x.npz: No such file or directory"),
        (["--inputs=in.npz", "--expected=in.npz"], 'expected output "y" is missing. Given: '),
    ],
)
def test_refusals(refused, states, arguments, message):
    open("file", "w").close()
    np.savez("in.npz", x=np.ones((1, 8), np.float32))
    assert refused("export-test", states, *arguments).startswith(message)


@pytest.mark.slow
def test_an_entry_that_is_not_named(refused, tmp_path):
    archive = built(entry_model(), tmp_path)
    assert refused("export-test", archive, "--inputs=x.npz") == (
        '--inputs x.npz: model "default" has 3 entries ("learn", "tell", "plain"); say which, as '
        "in --inputs learn=x.npz"
    )


def test_models_that_no_device_can_run(refused, tmp_path):
    packed = usmp.Executor("aot", {"interface-api": "packed"})
    archive = built(Attention, tmp_path, params=PARAMS, executor=packed)
    assert refused("export-test", archive) == (
        'model "default" has the packed interface, which TVM\'s runtime calls, and no device; '
        "compile it with --executor-aot-interface-api=c"
    )
