"""Each row about targets is tried: names, options in the text of a target, and flags."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import pytest
from tvm.target import Target

import usmp
from support.all_cases import check_all
from support.tflite_file import one_operator_model
from usmp.driver.errors import UsageError
from usmp.driver.options.target_options import add_target_options, full_target
from usmp.driver.tvm018.flags import current_arguments
from usmp.names import TARGET_OPTIONS
from usmp.objects.target.targets import BuildTargets, is_target, parse_targets, target_text
from usmp.relax.accelerators.known import check_accelerators
from usmp.support.compatibility import CompatibilityNote
from usmp.tvm018 import ACCEPTED, MAPPED, REFUSED, TARGET_NAMES, TARGET_OPTION_ROWS, OldName
from usmp.tvm018.targets import TARGET_FLAGS

SAMPLES = {
    ("c", "-mcpu"): "cortex-r5",
    ("c", "-model"): "my_board",
    ("c", "-march"): "rv32imac",
    ("cmsis-nn", "-mcpu"): "cortex-m55",
    ("cmsis-nn", "-mattr"): "+nomve,+nodsp",
    "-num-cores": "4",
    "-runtime": "rpc",
    "-executor": "graph",
    "-keys": "arm_cpu,cpu",
    "-interface-api": "c",
    "-workspace-byte-alignment": "8",
    "-constants-byte-alignment": "4",
}
"""Values of rows that are for all values; 1 for others."""

OPTIONS = {
    f"{kind} {row.name}={value}": (kind, row, value)
    for kind, rows in TARGET_OPTION_ROWS.items()
    for row in rows
    for value in row.values or [SAMPLES.get((kind, row.name), SAMPLES.get(row.name, "1"))]
}
REFUSED_NAMES = [row for row in TARGET_NAMES if row.verdict == REFUSED]


def parsed(target: object) -> tuple[BuildTargets, list[str]]:
    """What a build is for, and what users are told about it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        targets = parse_targets(target, takes_executor_options=True)
    assert all(warning.category is CompatibilityNote for warning in told)
    return targets, [str(warning.message) for warning in told]


def expected(kind: str, row: OldName, value: str) -> tuple[str, dict[str, object]]:
    """The target that a row stands for, and the options of the executor."""
    if row.verdict == ACCEPTED:
        return kind, {}
    (replacement,) = row.replacement(value)
    if replacement.startswith("--executor-aot-"):
        option, _, text = replacement.removeprefix("--executor-aot-").partition("=")
        return kind, {option: int(text) if text.isdigit() else text}
    return f"{kind} {replacement}", {}


def test_options_of_targets():
    assert len(OPTIONS) > 100
    check_all(OPTIONS, check_option)


def check_option(kind: str, row: OldName, value: str) -> None:
    text = f"{kind} {row.name}={value}"
    if kind == "cmsis-nn":
        check_cmsis_nn_option(row, value)
        return
    if row.verdict == REFUSED:
        with pytest.raises(ValueError) as error:
            parse_targets(text)
        assert str(error.value) == f'target "{text}": {row.sentence(value)}'
        return
    target, options = expected(kind, row, value)
    targets, told = parsed(text)
    assert told == [row.sentence(value)]
    assert target_text(targets.cpu) == target_text(parsed(target)[0].cpu)
    assert dict(targets.executor_options) == options
    of_json, _ = parsed({"kind": kind, row.name[1:]: value})
    assert str(of_json) == str(targets)


def check_cmsis_nn_option(row: OldName, value: str) -> None:
    """Check one with the core of "c"."""
    targets, told = parsed(f"cmsis-nn {row.name}={value}, c -mcpu=cortex-m55")
    assert told[1:] == [row.sentence(value)]
    lacking = "+nomve+nodsp" if row.name == "-mattr" else ""
    assert target_text(targets.cpu) == f"c -mcpu=cortex-m55{lacking}"


def test_options_of_targets_as_flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target")
    add_target_options(parser)
    shown = parser.format_help()

    def check(kind: str, row: OldName, value: str) -> None:
        flag = f"--target-{kind}{row.name}={value}"
        options = parser.parse_args([f"--target={kind},accel", flag])
        assert full_target(options) == f"{kind} {row.name}={value},accel"
        is_shown = row.name[1:] in TARGET_OPTIONS.get(kind, ())
        assert (f"--target-{kind}{row.name} " in shown) is is_shown

    check_all(OPTIONS, check)


def test_flags_that_are_refused():
    check_all({row.name: (row,) for row in TARGET_FLAGS}, check_flag)


def check_flag(row: OldName) -> None:
    flag = row.name.replace("*", "mcpu")
    for arguments in ([f"{flag}=x"], [flag, "x"]):
        with pytest.raises(UsageError) as error:
            current_arguments(["compile", "model.tflite", *arguments])
        assert str(error.value) == f"{flag}=x: {row.reason}"


def test_names_that_are_refused():
    check_all({row.name: (row,) for row in REFUSED_NAMES}, check_name)


def check_name(row: OldName) -> None:
    for target in (f"{row.name},c", f"c, {row.name} -option=1", row.name):
        with pytest.raises(ValueError) as error:
            check_accelerators(parse_targets(target).accelerators, listed=[row.name])
        assert str(error.value) == f'target "{row.name}" is not supported: {row.reason}'


OF_C = (
    "Options: -mcpu=. Options of TVM 0.18: -model=, -march=, -keys=, -device=, -tag=, -libs=, "
    "-host=, -runtime=, -system-lib=, -executor=, -interface-api=, -unpacked-api=, -link-params=, "
    "-workspace-byte-alignment=, -constants-byte-alignment="
)
CMSIS_NN = next(row for row in TARGET_NAMES if row.verdict == MAPPED)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("cmsis-nn,c", "c"),
        ("cmsis-nn", "c"),
        ("cmsis-nn -mcpu=cortex-m55, c", "c -mcpu=cortex-m55"),
        ("cmsis-nn,c -mcpu=cortex-m7", "c -mcpu=cortex-m7"),
        ("cmsis-nn -mcpu=cortex-m55,c -mcpu=cortex-m55", "c -mcpu=cortex-m55"),
        (["c", "cmsis-nn -mcpu=cortex-m4 -mattr=+nodsp"], "c -mcpu=cortex-m3"),
        (["cmsis-nn", {"kind": "c", "mcpu": "cortex-m33"}], "c -mcpu=cortex-m33"),
        ('[{"kind": "cmsis-nn", "mcpu": "cortex-m33"}, {"kind": "c"}]', "c -mcpu=cortex-m33"),
        ("cmsis-nn -mcpu=cortex-m55+nomve,c -mcpu=cortex-m55", "c -mcpu=cortex-m55+nomve"),
    ],
)
def test_c_takes_the_place_of_cmsis_nn(target, text):
    targets, told = parsed(target)
    assert (target_text(targets.cpu), targets.accelerators) == (text, ())
    assert told[0] == CMSIS_NN.sentence()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "cmsis-nn -mcpu=cortex-m55, c -mcpu=cortex-m4",
            'targets "cmsis-nn" and "c" are for different cores, -mcpu=cortex-m55 and '
            '-mcpu=cortex-m4; write "c" alone, with its core',
        ),
        ("cmsis-nn -mattr=+nomve,c", 'target "cmsis-nn": -mattr=+nomve needs -mcpu'),
        (
            "cmsis-nn -keys=cpu, c",
            'target "cmsis-nn -keys=cpu": unknown option "-keys=cpu". Options of TVM 0.18: -mcpu=, '
            "-mattr=, -debug_last_error=",
        ),
        (
            "cmsis-nn,llvm",
            'targets "cmsis-nn" and "llvm": "c" takes the place of "cmsis-nn", and main runs on '
            'one CPU; write "c" or "llvm"',
        ),
        ("c,llvm", "2 targets run the model's main function; name one of c, llvm"),
        ("c -nope=1", f'target "c -nope=1": unknown option "-nope=1". {OF_C}'),
        (
            "c -mtriple=x",
            f'target "c -mtriple=x": unknown option "-mtriple=x" (of target "llvm"). {OF_C}',
        ),
        (
            "c -executor=graph -keys=cpu -runtime=rpc",
            'target "c -executor=graph -keys=cpu -runtime=rpc": -executor=graph: aot is the only '
            "executor; leave it out;\n-runtime=rpc: the C needs no runtime: leave it out",
        ),
        ({"kind": "c", "x": 1}, "target \"{'kind': 'c', 'x': 1}\": unknown option "
         f'"-x=1". {OF_C}'),
        ('{"kind": "c"', "unknown target \"{\"kind\": \"c\"\": it is no JSON: Expecting ',' "
         "delimiter: line 1 column 13 (char 12)"),
        ("{}", 'unknown target "{}": it has no kind, as {"kind": "c"}'),
        ("[c", 'unknown target "[c": it is no JSON: Expecting value: line 1 column 2 (char 1)'),
        ("no.json", "--target=no.json: the file cannot be read: No such file or directory"),
        (
            "c -link-params=1",
            "options of the target are those of the executor: write Executor('aot', "
            "{'link-params': 1})",
        ),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_with_a_target(target, message):
    with pytest.raises(ValueError) as error:
        parse_targets(target)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("target", "text"),
    [
        # What `str` of TVM 0.18 made of the targets of tvm.target.target.micro.
        ("c -keys=cpu -model=host", "c"),
        ("c -keys=arm_cpu,cpu -mcpu=cortex-m4+nodsp -model=nrf52840", "c -mcpu=cortex-m3"),
        (
            "c -keys=arm_cpu,cpu -march=armv7e-m -mcpu=cortex-m7 -model=stm32f746xx",
            "c -mcpu=cortex-m7",
        ),
        ("c -keys=cpu -mcpu=cortex-r5 -model=zynq_mp_r5", "c"),
        ("c -model=stm32f746xx -march=armv7e-m", "c -mcpu=cortex-m7"),
        ("c -mcpu=cortex-m4 -model=nrf52840", "c -mcpu=cortex-m4"),
        ("c -keys=arm_cpu,cpu", "c"),
        ("c --runtime=c --system-lib", "c"),
    ],
)
def test_several_options(target, text):
    targets, told = parsed(target)
    assert target_text(targets.cpu) == text
    assert len(told) == target.count(" -") - target.count("cortex-m7") - target.count("m4 ")


@pytest.mark.parametrize("target", [{"kind": "c", "mcpu": "cortex-m7"}, {"kind": "llvm"}])
def test_what_tvm_writes_of_a_target_is_read_without_a_note(target):
    cpu = Target(target)
    for written in (cpu, str(cpu), json.loads(str(cpu))):
        targets, told = parsed(written)
        assert (str(targets.cpu), told) == (str(cpu), [])
    targets, told = parsed(str(Target({**target, "host": {"kind": "llvm"}})))
    assert (str(targets.cpu), told) == (
        str(cpu),
        ["-host=llvm: main runs on the target, as all operators do"],
    )


def test_a_json_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m33.json").write_text(json.dumps({"kind": "c", "keys": ["x"], "model": "nrf5340dk"}))
    targets, told = parsed("accel,m33.json")
    assert targets.names == ["accel", "c"]
    assert target_text(targets.cpu) == "c -mcpu=cortex-m33"
    assert [note.partition(":")[0] for note in told] == ["-keys=x", "-model=nrf5340dk"]
    Path("large.json").write_text(" " * 70000)
    Path("deep.json").write_text("[" * 60000)
    with pytest.raises(ValueError, match=r"^--target=large.json: the file has more than 65536 b"):
        parse_targets("large.json")
    with pytest.raises(ValueError, match=r'^unknown target "deep.json": it is no JSON: '):
        parse_targets("deep.json")


def test_a_json_list():
    core = {"kind": "c", "mcpu": "cortex-m33", "host": {"kind": "llvm"}}
    listed = json.dumps([{"kind": "accel"}, core])
    parser = argparse.ArgumentParser()
    add_target_options(parser)
    options = parser.parse_args([], argparse.Namespace(target=listed))
    for written in (listed, full_target(options), json.dumps(["accel", core])):
        targets, told = parsed(written)
        assert targets.names == ["accel", "c"]
        assert target_text(targets.cpu) == "c -mcpu=cortex-m33"
        assert told == ["-host=llvm: main runs on the target, as all operators do"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cmsis_nn", 'Did you mean "cmsis-nn"? Targets: c, llvm'),
        ("my-npu", "Targets: c, llvm"),
    ],
)
def test_a_misspelt_name(name, message):
    with pytest.raises(ValueError) as error:
        check_accelerators([name])
    begin = f'unknown target "{name}": no patterns of an accelerator have this name'
    assert str(error.value).startswith(f"{begin} (docs/accelerators.md). ")
    assert message in str(error.value)


def test_a_misspelt_core():
    for core in ("cortex-m44", "Cortex-M4", "cortexm4", "m7", "cortex-m4+no"):
        with pytest.raises(ValueError, match=r"^target c: "):
            parse_targets(f"c -mcpu={core}")


def test_pools_list_targets_of_tvm_0_18():
    old = Target({"kind": "c", "mcpu": "cortex-m4", "model": "stm32l4r5zi", "host": "llvm"})
    targets, _ = parsed(old)
    assert is_target(old, targets.cpu)
    assert is_target("cmsis-nn", targets.cpu)
    assert not is_target(Target("c"), targets.cpu)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::usmp.support.compatibility.CompatibilityNote")
def test_accepted_options_change_no_byte(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(one_operator_model())
    mod = usmp.import_model(path)
    options = "-keys=arm_cpu,cpu -device=arm_cpu -tag=x -libs=a,b -host=llvm -runtime=c -march=x"
    old = f"c {options} -model=esp32 --system-lib -executor=aot -mcpu=esp32"
    assert usmp.build(mod, old).files() == usmp.build(mod).files()
    aligned = usmp.build(mod, "c -workspace-byte-alignment=32 -link-params=1 -unpacked-api=1")
    executor = usmp.Executor("aot", {"workspace-byte-alignment": 32})
    assert aligned.ir_mod.attrs["executor"].workspace_byte_alignment == 32
    assert aligned.source == usmp.build(mod, "c", executor).source
    with pytest.raises(ValueError) as error:
        usmp.build(mod, "c -workspace-byte-alignment=8", executor)
    assert str(error.value) == (
        "option workspace-byte-alignment is 8 by the target and 32 by the executor; give it to the "
        "executor alone"
    )


@pytest.mark.slow
def test_a_build_warns_once(tmp_path):
    """With a reference build, and of several entries."""
    path = tmp_path / "model.tflite"
    path.write_bytes(one_operator_model())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        usmp.build({"a": path, "b": path}, "c -model=sam3x8e", reference=True)
    assert [str(w.message) for w in told if w.category is CompatibilityNote] == [
        "-model=sam3x8e: means -mcpu=cortex-m3, unless -mcpu is given"
    ]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        # As CMake passes an argument with blanks.
        (r"cmsis-nn\ -mcpu=cortex-m55,\ c", "c -mcpu=cortex-m55"),
        ('"cmsis-nn -mcpu=cortex-m55, c"', "c -mcpu=cortex-m55"),
        ("c -mcpu='cortex-m4'", "c -mcpu=cortex-m4"),
        ('c -mcpu="cortex-m4"', "c -mcpu=cortex-m4"),
        ("llvm -mtriple=thumbv7m-none-eabi -mattr='+neon,+fp16'", None),
    ],
)
def test_quotes_and_backslashes_of_build_systems(written, text):
    text = text or written.replace("'", "")
    assert target_text(parsed(written)[0].cpu) == target_text(parsed(text)[0].cpu)
