"""`usmp-opt`: what it reads, runs and prints, and what it refuses."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import tvm
import tvm_ffi

import usmp
from support import children
from support.commands import message_of
from support.small_digits import small_digits
from usmp.driver.opt import opt
from usmp.driver.opt.passes import known_passes
from usmp.driver.options import pass_instruments as opt_instruments

SCRIPT = """\
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        a = T.decl_buffer((4,), "int8", data=x)
        b = T.decl_buffer((4,), "int8", data=y)
        c = T.alloc_buffer((4,), "int8")
        for i in T.parallel(4):
            c[i] = a[i] + T.int8(1)
        for i in range(4):
            b[i] = c[i]
"""
BIND = "tirx.transform.BindTarget{target=c}"


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(SCRIPT)
    return str(path)


STATE_SCRIPT = """
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def __tvm_main__():
        last = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "last"})
        last[0] = last[0] + T.int8(1)
"""


@pytest.fixture
def run(capfd):
    """The exit status of a command, and what it wrote to stdout and stderr."""

    def run(*arguments):
        status = opt.main([str(argument) for argument in arguments])
        return status, *capfd.readouterr()

    return run


@pytest.fixture
def refused(run):
    """The message of a command that fails."""

    def refused(*arguments):
        status, output, error = run(*arguments)
        assert (status, output) == (1, "")
        return message_of(error, "usmp-opt")

    return refused


def lines(text):
    return [line.strip() for line in text.splitlines()]


def test_without_passes_it_prints_what_it_reads(run, script, tmp_path):
    status, output, error = run(script)
    assert (status, error) == (0, "")
    assert "for i in T.parallel(4):" in lines(output)
    (tmp_path / "again.py").write_text(output)
    assert run(tmp_path / "again.py") == (0, output, "")


def test_passes_run_in_their_order(run, script):
    output = run(script, f"--passes={BIND}, ConvertForLoopsToSerial,usmp.AssignPoolInfo")[1]
    assert "for i in T.parallel(4):" not in lines(output)
    assert 'metadata["usmp.WorkspacePoolInfo"][0]' in output
    assert 'T.func_attr({"target": T.target(' in output


def test_names_of_the_previous_release_and_unknown_ones_are_told(run, script):
    status, _, error = run(
        script, "--pass-config=tir.usmp.overlap=0", "--disabled-pass=OverlapInputAndOutputs"
    )
    assert status == 0
    note, warning = error.splitlines()
    assert note.startswith("usmp-opt: note: tir.usmp.overlap=0: write --disabled-pass=Overlap")
    assert warning.startswith("usmp-opt: warning: disabled_pass=OverlapInputAndOutputs: no pass")


def test_an_extension_registers_an_algorithm(run, script, tmp_path):
    extension = tmp_path / "mine.py"
    extension.write_text(
        "import tvm_ffi\nfrom usmp.algorithms import get_algorithm\n"
        "tvm_ffi.register_global_func('tir.usmp.algo.mine', get_algorithm('no_sharing'), "
        "override=True)\n"
    )
    passes = f"--passes={BIND},UnifiedStaticMemoryPlanner"
    arguments = (script, passes, "--pass-config=tir.usmp.custom_algorithm=mine")
    try:
        status, output, error = run(*arguments, f"--extension={extension}")
        assert (status, error) == (0, "")
        assert "address_of" in output
    finally:
        tvm_ffi.registry.remove_global_func("tir.usmp.algo.mine")
    assert run(*arguments)[0] == 1


def test_stdin(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(SCRIPT))
    assert "for i in range(4):" in lines(run("-", "--passes=ConvertForLoopsToSerial")[1])


def test_functions_without_a_module(run, tmp_path):
    (tmp_path / "f.py").write_text(
        "from tvm.script import tirx as T\n\n@T.prim_func\ndef f(x: T.handle):\n    T.evaluate(0)\n"
    )
    assert "def f(x: T.handle):" in lines(run(tmp_path / "f.py")[1])


def test_objects_of_attributes_can_be_read_again(run, script, tmp_path):
    status, output, _ = run(script, f"--passes={BIND},AssignPoolInfo", "--show-meta")
    assert status == 0
    (tmp_path / "annotated.py").write_text(output)
    planned = run(tmp_path / "annotated.py", "--passes=UnifiedStaticMemoryPlanner")
    assert planned == run(script, f"--passes={BIND},UnifiedStaticMemoryPlanner")


def test_pools(run, script):
    arguments = [
        f"--passes={BIND},UnifiedStaticMemoryPlanner",
        "--usmp-workspace-pools=fast,slow",
        "--usmp-workspace-pool-fast=size=2",
    ]
    output = run(script, *arguments)[1]
    assert "slow_0_var" in output
    assert "fast" not in output


def test_a_state_pool(run, tmp_path):
    path = tmp_path / "state.py"
    path.write_text(STATE_SCRIPT)
    arguments = [f"--passes={BIND},UnifiedStaticMemoryPlanner", "--state-pool=backup"]
    status, output, _ = run(path, *arguments)
    assert status == 0
    assert 'def __tvm_main__(backup_0_var: T.handle("uint8", "global")):' in output
    status, _, error = run(path, *arguments, "--usmp-workspace-pool-backup=size=3")
    assert status == 1
    assert 'pool "backup": size_hint_bytes=3' in error


@pytest.mark.parametrize(("algorithm", "size_bytes"), [("auto", 4), ("no_sharing", 36)])
def test_pass_options(run, script, algorithm, size_bytes):
    """The input, what is between, and the output are one after the other in 4 bytes, or each in
    bytes of its own, aligned by 16."""
    output = run(
        script,
        f"--passes={BIND},ConvertForLoopsToSerial,UnifiedStaticMemoryPlanner",
        f"--pass-config=tir.usmp.algorithm={algorithm}",
        "--pass-config=tir.usmp.use_workspace_io=1",
    )[1]
    assert f'= T.decl_buffer(({size_bytes},), "uint8"' in output


@pytest.mark.parametrize(
    "flag", ["--disabled-pass=OverlapInputsAndOutputs", "--pass-config=tir.usmp.overlap=0"]
)
@pytest.mark.filterwarnings("ignore::usmp.support.compatibility.CompatibilityNote")
def test_disabled_passes(run, script, flag):
    """The input and what is between share no bytes."""
    output = run(
        script,
        f"--passes={BIND},ConvertForLoopsToSerial,UnifiedStaticMemoryPlanner",
        "--pass-config=tir.usmp.use_workspace_io=1",
        flag,
    )[1]
    assert '= T.decl_buffer((20,), "uint8"' in output


def test_ir_before_and_after_passes(run, script):
    passes = f"--passes={BIND},ConvertForLoopsToSerial,UnifiedStaticMemoryPlanner"
    before = run(script, passes, "--print-before=ConvertForLoopsToSerial")[2]
    assert "# IR before usmp.ConvertForLoopsToSerial" in before
    assert "T.parallel" in before
    after = run(script, passes, "--print-after=usmp.ConvertForLoopsToSerial,AssignPoolInfo")[2]
    assert [line for line in lines(after) if line.startswith("# IR")] == [
        "# IR after usmp.ConvertForLoopsToSerial",
        "# IR after usmp.AssignPoolInfo",
    ]
    assert "T.parallel" not in after


def test_ir_around_all_passes(run, script):
    error = run(script, "--passes=ConvertForLoopsToSerial", "--print-before-all")[2]
    assert [line for line in lines(error) if line.startswith("# IR")] == [
        "# IR before usmp-opt",
        "# IR before usmp.ConvertForLoopsToSerial",
    ]


def test_ir_that_tvm_cannot_print_as_a_whole(monkeypatch):
    """As after tensor intrinsics: the functions that it can print are there, and others named."""

    def script_of(mod, show_meta):
        (only,) = mod.functions if len(mod.functions) == 1 else ("several",)
        if str(only) != 'I.GlobalVar("good")':
            raise TypeError("Cannot treat type StmtBlockDoc as type ExprDoc")
        return mod.script(show_meta=show_meta)

    monkeypatch.setattr(opt_instruments, "script_of", script_of)
    function = tvm.tirx.PrimFunc([], tvm.tirx.Evaluate(0))
    mod = tvm.IRModule({name: function for name in ("good", "bad")})
    stream = io.StringIO()
    printer = opt_instruments.Printer(["mine"], [], False, stream)
    printer.run_before_pass(mod, SimpleNamespace(name="usmp.mine"))
    assert "def good()" in stream.getvalue()
    assert "# TVM cannot print bad: Cannot treat type StmtBlockDoc" in stream.getvalue()
    assert printer.unseen() == []


def test_several_modules(run, tmp_path):
    (tmp_path / "two.py").write_text(f"{SCRIPT}# -----\n{SCRIPT.replace('int8', 'int16')}")
    first, second = run(tmp_path / "two.py", "--split-input-file")[1].split("# -----\n")
    assert (first.count("class Module:"), second.count("class Module:")) == (1, 1)
    assert ("T.int8(1)" in first, "T.int16(1)" in second) == (True, True)


def test_output_file(run, script, tmp_path):
    assert run(script, "-o", tmp_path / "out.py") == (0, "", "")
    assert (tmp_path / "out.py").read_text() == run(script)[1]


@pytest.mark.slow
def test_a_model(run, tmp_path):
    path = tmp_path / "digits.tflite"
    path.write_bytes(small_digits())
    output = run(path, "--passes=Pipeline{module_name=net}", "--verify-each")[1]
    assert "def __tvm_main__(" in output
    built = usmp.build(usmp.import_model(path), module_name="net").ir_mod
    assert len(built.functions) > 2
    for variable in built.functions:
        assert f"def {variable.name_hint}(" in output


def test_text_of_a_model_is_not_run(refused, tmp_path):
    for name in ("m.tflite", "m.TFLITE", "m.Onnx"):
        (tmp_path / name).write_text("raise SystemExit('it ran')")
        assert "it ran" not in refused(tmp_path / name)


def test_what_is_left_out_is_shown_by_an_option_of_the_command(run, script):
    pools = (f"--passes={BIND},AssignPoolInfo", "--usmp-workspace-pools=fast,slow")
    _, output, _ = run(script, *pools)
    assert output.endswith("# Metadata omitted; --show-meta prints it.\n")
    assert "show_meta" not in output


@pytest.mark.parametrize("name", ["archive.tar", "net", "net.txt"])
def test_only_files_of_python_run_as_python(refused, tmp_path, name):
    (tmp_path / name).write_text("raise SystemExit('it ran')")
    ending = (tmp_path / name).suffix
    assert refused(tmp_path / name) == (
        f'{tmp_path / name}: unknown ending "{ending}"; TVMScript, which runs as Python, is read '
        "from .py files and from stdin, models are .tflite, .onnx, .pt2"
    )


def test_list_of_passes(run):
    listed = run("--list-passes")[1].splitlines()
    names = [line.partition("{")[0] for line in listed if not line.startswith(" ")]
    assert names == [f"usmp.{name}" for name in known_passes()]
    assert "usmp.LowerAcceleratorFunctions{accelerators= symbol_prefix=}" in listed
    # Each with a sentence.
    assert all(len(line.strip()) > 10 for line in listed[1::2])


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("Nope", 'unknown pass "Nope". See usmp-opt --list-passes. Passes of TVM are'),
        ("relax.transform.Nope", 'unknown pass "relax.transform.Nope"'),
        ("AssignPoolInfo{x=1}", 'pass AssignPoolInfo: unknown option "x". Options: none'),
        ("LowerMain{target}", 'pass LowerMain: write "target" as KEY=VALUE'),
        ("LowerMain{target=gpu!}", 'unknown target "gpu!"'),
        ("PlanForBoard", "pass PlanForBoard: needs board, as in PlanForBoard{board=...}"),
        ("A B", '--passes: cannot read "A B"; write it as "A,B{key=value other=x}"'),
        ("AssignPoolInfo", "__tvm_main__ has no target"),
        ("CheckShapes", 'the module has no Relax function "main"'),
    ],
)
def test_passes_that_are_refused(refused, script, passes, message):
    assert refused(script, f"--passes={passes}").startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; write a class with @I.ir_module"),
        ("x = (", ", line 1: '(' was never closed"),
        ("\nprint(zzz)", ", line 2: NameError: name 'zzz' is not defined"),
        ("x = 1", "makes no module; write a class with @I.ir_module"),
        (SCRIPT + SCRIPT.replace("Module", "Other"), "has 2 modules; put a line"),
        (SCRIPT.replace("c[i] = a[i]", "c[i] = d[i]"), ", line 13: Undefined variable: d"),
        ("\0\ud800", "neither TVMScript (text in UTF-8) nor a model"),
    ],
)
def test_files_that_are_refused(refused, tmp_path, text, message):
    path = tmp_path / "net.py"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert refused(path).removeprefix(str(path)).removeprefix(": ").startswith(message)


def test_a_line_of_a_later_part_is_that_of_the_file(refused, tmp_path):
    path = tmp_path / "two.py"
    path.write_text(f"{SCRIPT}# -----\nprint(zzz)\n")
    number = SCRIPT.count("\n") + 2
    message = refused(path, "--split-input-file")
    assert message == f"{path}, line {number}: NameError: name 'zzz' is not defined"


def test_usage_that_is_refused(refused, script, tmp_path):
    assert refused(tmp_path / "no.py") == f"{tmp_path / 'no.py'}: No such file or directory"
    assert refused(script, "-o", script) == f"{script}: the IR would overwrite the input"
    assert refused(script, "--pass-config=x=1").startswith('unknown pass option "x"')
    message = refused(script, "--passes=ConvertForLoopsToSerial", "--print-after=FuseSlices")
    assert message.startswith("FuseSlices did not run, so there is nothing to print")


def test_ir_that_is_not_well_formed(refused, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text(
        "import tvm\n"
        "from tvm import tirx\n"
        'x = tirx.Var("x", "int32")\n'
        "f = tirx.PrimFunc([], tirx.Evaluate(x + 1))\n"
    )
    assert refused(path, "--verify-each").startswith("as it was read, the IR is not well-formed")


def test_the_command_is_installed():
    command = os.path.join(os.path.dirname(sys.executable), "usmp-opt")
    if not os.path.exists(command):
        pytest.skip("this environment was installed before the command was there")
    done = children.run(command, "--version")
    assert (done.returncode, done.stdout) == (0, f"usmp {usmp.__version__}\n")


@pytest.mark.slow
def test_a_reader_that_has_seen_enough():
    command = (sys.executable, "-m", "usmp.driver.opt.opt", "--list-passes")
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, **children.WITHOUT_TORCH}
    with os.fdopen(writing, "wb") as stdout:
        done = children.run(*command, stdout=stdout, stderr=subprocess.PIPE, env=environment)
    assert (done.returncode, done.stderr) == (1, "")


def test_help_needs_no_tvm():
    script = (
        "import sys\nfrom usmp.driver.opt import opt\n"
        "try: opt.main(['--help'])\n"
        "except SystemExit: print('tvm' in sys.modules, 'numpy' in sys.modules)"
    )
    done = children.run(sys.executable, "-c", script)
    assert done.stdout.splitlines()[-1] == "False False"
    assert "TVMScript is Python, which runs as it is read" in done.stdout


def test_known_passes_are_passes():
    for name, make in known_passes().items():
        if name not in ("PlanForBoard", "Pipeline"):
            made = make()
            assert isinstance(made, tvm.ir.transform.Pass)
            assert made.info.name == f"usmp.{name}"
