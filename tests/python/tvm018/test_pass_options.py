"""Options of a PassContext of TVM 0.18, in a PassContext and by --pass-config."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvm.ir.transform import PassContext

import usmp
from support.commands import message_of
from support.compatibility_notes import WITH_PARAMS, Fused, told, without_notes
from support.relax_models import PARAMS, Attention
from support.tflite_file import one_operator_model
from usmp.driver import tvmc
from usmp.driver.errors import UsageError
from usmp.driver.options.pass_config import current_settings, pass_context
from usmp.support.compatibility import CompatibilityNote
from usmp.tvm018 import ACCEPTED, MAPPED, PASS_CONFIGS, REFUSED, OldName

WITHOUT_USMP = {
    "config": {"tir.usmp.algorithm": "greedy_by_size"},
    "disabled_pass": ["OverlapInputsAndOutputs", "OrderOperators", "StreamOperators"],
}
CMSIS_NN = "relay.ext.cmsisnn.options"


def rows_of(verdict: str) -> list[OldName]:
    return [row for row in PASS_CONFIGS if row.verdict == verdict]


def value_of(row: OldName) -> str:
    """A value of the row, as a command line has it."""
    return next(iter(row.values), "1")


def typed(row: OldName) -> object:
    """The same as TVM takes it: of some options it knows the type."""
    kind = str(PassContext.list_configs()[row.name]["type"])
    if kind.endswith("Config"):
        return {}
    if kind == "ffi.Array":
        return []
    return value_of(row) in ("1", "true") if kind == "bool" else int(value_of(row))


def in_context(row: OldName) -> object:
    is_ours = str(PassContext.list_configs()[row.name]["type"]) == "Any"
    return value_of(row) if is_ours else typed(row)


def memory_of(factory) -> dict:
    return factory.metadata["modules"]["default"]["memory"]


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Run `tvmc compile` on a small model: its status, what is on stderr, and the archive."""
    monkeypatch.chdir(tmp_path)
    Path("small.tflite").write_bytes(one_operator_model())

    def run(*arguments: str) -> tuple[int, list[str], bytes]:
        Path("module.tar").unlink(missing_ok=True)
        status = tvmc.main(["compile", "small.tflite", "-q", *arguments])
        archive = Path("module.tar")
        content = archive.read_bytes() if archive.exists() else b""
        return status, capfd.readouterr().err.splitlines(), content

    return run


def test_accepted_options_of_a_pass_context_change_nothing_and_are_told():
    rows = rows_of(ACCEPTED)
    factory, notes = told(config={row.name: in_context(row) for row in rows})
    assert {note.partition("=")[0] for note in notes} == {row.name for row in rows}
    assert {note.partition(": ")[2] for note in notes} == {row.reason for row in rows}
    assert len(notes) == len(rows)
    assert factory.files() == without_notes()


@pytest.mark.slow
def test_accepted_options_of_a_command_line_change_nothing_and_are_told(command, capfd):
    rows = rows_of(ACCEPTED)
    given = [f"--pass-config={row.name}={value_of(row)}" for row in rows]
    assert command(*given) == command()
    assert tvmc.main(["compile", "small.tflite", *given]) == 0
    notes = [line for line in capfd.readouterr().err.splitlines() if "note: " in line]
    assert notes == [f"tvmc: note: {row.sentence(value_of(row))}" for row in rows]


def test_refused_options_of_a_pass_context_are_one_error():
    rows = rows_of(REFUSED)
    config = {row.name: typed(row) if in_context(row) != value_of(row) else "1" for row in rows}
    with (
        PassContext(config=config),
        pytest.raises(ValueError, match=r"^relay\.") as error,
    ):
        usmp.build(Attention, params=PARAMS)
    lines = str(error.value).splitlines()
    assert {line.partition("=")[0] for line in lines} == {row.name for row in rows}
    reasons = [line.partition(": ")[2].removesuffix(".") for line in lines]
    assert reasons == [row.reason for row in rows]


@pytest.mark.slow
def test_refused_options_of_a_command_line_are_one_error(command):
    rows = rows_of(REFUSED)
    status, lines, archive = command(*(f"--pass-config={row.name}=1" for row in rows))
    assert (status, archive) == (1, b"")
    message = message_of("\n".join(lines))
    assert message.startswith(f"{rows[0].sentence('1')}. ")
    assert message.endswith(f" {rows[-1].sentence('1')}")


@pytest.mark.parametrize(
    "name",
    ["tir.instrument_bound_checkers", "relay.backend.use_meta_schedule"],
)
def test_a_switch_that_is_off_anyway_is_accepted(name):
    assert current_settings([f"{name} = False"])[0] == []
    with pytest.raises(UsageError, match=f"^{name}=True: "):
        current_settings([f"{name} = True"])


@pytest.mark.slow
def test_without_usmp_memory_is_shared_as_by_its_greedy_planner():
    factory, (note,) = told(Attention, WITH_PARAMS, config={"tir.usmp.enable": False})
    assert note.startswith("tir.usmp.enable=0: main is planned as by TVM 0.18 without USMP")
    assert factory.files() == without_notes(Attention, WITH_PARAMS, **WITHOUT_USMP)
    (pool,) = (p for p in memory_of(factory)["pools"] if p["kind"] == "workspace")
    assert pool["peak_bytes"] < sum(buffer["size"] for buffer in pool["buffers"])


@pytest.mark.parametrize("value", ["0", "false", "FALSE"])
def test_without_usmp_on_the_command_line(command, value):
    settings, disabled, _ = current_settings([f" tir.usmp.enable = {value} "])
    assert settings == ["tir.usmp.algorithm=greedy_by_size"]
    assert disabled == WITHOUT_USMP["disabled_pass"]
    if value == "0":
        _, _, archive = command(f"--pass-config=tir.usmp.enable={value}")
        given = f"--pass-config={settings[0]}", f"--disabled-pass={','.join(disabled)}"
        assert archive == command(*given)[2]


@pytest.mark.parametrize("option", ["algorithm", "custom_algorithm"])
def test_without_usmp_an_algorithm_is_not_read_and_that_is_told(option):
    config = {"tir.usmp.enable": False, f"tir.usmp.{option}": "hill_climb"}
    factory, notes = told(config=config)
    assert memory_of(factory)["algorithm"] == "greedy_by_size"
    assert notes[1] == (
        f"tir.usmp.{option}=hill_climb: not read beside tir.usmp.enable=0, as in TVM 0.18; "
        "leave out one of the two"
    )


@pytest.mark.slow
def test_without_usmp_the_short_option_is_not_read_either(command, capfd):
    arguments = ["compile", "small.tflite", "--usmp-algorithm=exact"]
    command()
    assert tvmc.main([*arguments, "--pass-config=tir.usmp.enable=0"]) == 0
    notes = [line for line in capfd.readouterr().err.splitlines() if "note: " in line]
    assert notes[1].startswith("tvmc: note: tir.usmp.algorithm=exact: not read beside")


@pytest.mark.slow
def test_the_depth_of_fusion_has_the_name_of_relax():
    separate, (note,) = told(config={"relay.FuseOps.max_depth": 1})
    assert note == "relay.FuseOps.max_depth=1: relax.FuseOps.max_depth takes its place"
    assert separate.files() == without_notes(config={"relax.FuseOps.max_depth": 1})
    assert separate.files() != without_notes()
    assert current_settings(["relay.FuseOps.max_depth=7"])[0] == ["relax.FuseOps.max_depth=7"]


@pytest.mark.parametrize(
    ("value", "core"),
    [
        ({"mcpu": "cortex-m4"}, "cortex-m4"),
        ({"mcpu": "cortex-m55", "mattr": "+nomve"}, "cortex-m55+nomve"),
    ],
)
def test_the_core_of_cmsis_nn_is_that_of_the_target(value, core):
    factory, (note,) = told(Fused, {"target": "c"}, config={CMSIS_NN: value})
    assert "are the -mcpu of target c" in note
    assert factory.files() == without_notes(Fused, {"target": f"c -mcpu={core}"})


@pytest.mark.slow
def test_the_core_of_cmsis_nn_on_the_command_line(command):
    _, _, archive = command(f'--pass-config={CMSIS_NN}={{"mcpu": "cortex-m4"}}')
    assert archive == command("--target-c-mcpu=cortex-m4")[2]


@pytest.mark.parametrize(
    ("target", "named"),
    [("c -mcpu=cortex-m3", "core cortex-m3"), ("llvm", "target llvm")],
)
def test_the_core_of_cmsis_nn_contradicts_a_target(target, named):
    with (
        PassContext(config={CMSIS_NN: {"mcpu": "cortex-m4"}}),
        pytest.warns(CompatibilityNote),
        pytest.raises(ValueError, match=f"is for core cortex-m4, but the target names {named}"),
    ):
        usmp.build(Fused, target)


def test_options_of_cmsis_nn_that_are_no_json():
    with pytest.raises(UsageError, match=f"^pass option {CMSIS_NN}="):
        current_settings([f"{CMSIS_NN}={{mcpu"])


def test_every_mapped_option_was_tried():
    assert {row.name for row in rows_of(MAPPED)} == {
        "tir.usmp.enable",
        "relay.FuseOps.max_depth",
        CMSIS_NN,
    }


def test_options_of_tvm_keep_their_types():
    with pytest.raises(AttributeError, match=r"tirx\.noalias to have type bool"):
        PassContext(config={"tirx.noalias": "abc"})


@pytest.mark.slow
def test_notes_come_once_for_all_builds_of_a_call():
    context = {"config": {"tir.noalias": True}, "disabled_pass": ["AlterOpLayout"]}
    _, notes = told(Fused, {"reference": True, "target": "c"}, **context)
    assert len(notes) == 2
    with PassContext(**context), pytest.warns(CompatibilityNote) as caught:
        usmp.explain(Fused)
    assert len(caught) == 2


def test_a_pipeline_reads_names_of_tvm_0_18():
    config = {"tir.usmp.enable": False, "relay.FuseOps.max_depth": 1}
    with PassContext(config=config):
        pipeline = usmp.get_aot_pipeline()
        with pytest.warns(CompatibilityNote) as caught:
            planned = pipeline(Fused)
    assert len(caught) == 2
    config = {**WITHOUT_USMP["config"], "relax.FuseOps.max_depth": 1}
    with PassContext(config=config, disabled_pass=WITHOUT_USMP["disabled_pass"]):
        assert usmp.get_aot_pipeline()(Fused).script() == planned.script()


def test_python_functions_of_tvmc_tell():
    model = tvmc.TVMCModel(Fused, params={})
    with pytest.warns(CompatibilityNote, match=r"^tir\.noalias=1: has no effect") as caught:
        tvmc.compile(model, pass_context_configs=["tir.noalias=1"])
    (note,) = (warning for warning in caught if warning.category is CompatibilityNote)
    assert note.filename == __file__


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("tir.usmp.algoritm", 'Did you mean "tir.usmp.algorithm"? '),
        ("usmp.enable", 'Did you mean "tir.usmp.enable"? '),
        ("nothing.like.it", ""),
    ],
)
def test_an_unknown_option_names_the_one_that_is_meant(name, meant):
    with pytest.raises(UsageError) as error:
        pass_context([f"{name}=1"])
    assert str(error.value) == (
        f'unknown pass option "{name}". {meant}See tvmc list pass-configs for those of the planner'
    )


def test_blanks_around_names_and_values_are_no_part_of_them():
    config = pass_context([" tir.usmp.preserve_inputs = FALSE "]).config
    assert config["tir.usmp.preserve_inputs"] is False


def test_flags_add_words_to_a_list():
    settings = ["tir.usmp.debug=profile", 'tir.usmp.debug=["poison_dead_bytes"]']
    words = pass_context(settings).config["tir.usmp.debug"]
    assert list(words) == ["profile", "poison_dead_bytes"]
