"""Programs with several entries in the emulators of boards: one memory, state that all see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.accelerator_models import TWO_C, Two
from support.board_programs import SOME_BOARDS, build_program, require_board, run_program
from support.entry_models import INITIAL, WEIGHTS, Entries, calls, entry_model, forgetting_model
from support.entry_programs import EntriesModel
from support.levels import in_long_run, sample, seeds
from support.micro import Micro
from support.quantized_models.variables import VECTOR, delay
from support.small_digits import small_digits
from support.state_models import streaming_model
from usmp.boards.board import Board, board_named
from usmp.boards.board_run import program_memory
from usmp.boards.emulator import EmulatedModule, EmulatorError, run_emulator
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.board

AN385 = board_named("mps2-an385")
RUNS = 40

two_boards = pytest.mark.parametrize("board", sample(["mps2-an385", "mps3-an547"], 1))


def emulated(factory, board: Board) -> EmulatedModule:
    require_board(board)
    return EmulatedModule(factory.files(), factory.metadata["modules"]["default"], board)


def memory_bytes(module: EmulatedModule, board: Board) -> int:
    """What all entries together have in the program, without stack and variables."""
    return program_memory(module.sections(), board).pools


def as_bytes(runs: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, bytes]]:
    return [{name: value.tobytes() for name, value in run.items()} for run in runs]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "io"),
    [*((board, True) for board in SOME_BOARDS), (AN385, False)],
    ids=[*(board.name for board in SOME_BOARDS), "own-io"],
)
def test_entries_that_share_a_state(board, io):
    """What one run leaves in memory is there in the next one, of whichever entry."""
    with PassContext(config={"tir.usmp.use_workspace_io": io}):
        factory = usmp.build(entry_model(), board=board)
    runs = [(entry, {"x": x}) for entry, x in calls(RUNS)]
    outcome = emulated(factory, board).run(runs)
    reference = Entries()
    assert outcome.entries == [entry for entry, _ in runs]
    for (entry, inputs), outputs in zip(runs, outcome.outputs, strict=True):
        expected = reference.run(inputs["x"], entry)
        assert list(outputs) == list(expected)
        for name, value in expected.items():
            np.testing.assert_allclose(outputs[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@two_boards
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_random_programs_of_integers(board, seed):
    """Integers are equal, also in the second session, which starts the board anew."""
    board, model = board_named(board), EntriesModel(seed)
    factory = usmp.build(model.build(), board=board)
    random = np.random.default_rng(seed)
    names = random.choice(list(model.entries), RUNS)
    runs = [(str(name), random.integers(-128, 128, 4).astype(np.int8)) for name in names]
    program = emulated(factory, board)
    for _ in range(2):
        outcome = program.run([(name, {"x": x}) for name, x in runs])
        found = [[value.tolist() for value in outputs.values()] for outputs in outcome.outputs]
        assert found == model.expected(runs)


@pytest.fixture
def two_models(request, shared_model) -> dict[str, bytes]:
    """A model with state, and another one."""
    if request.param == "small":
        return {"stream": delay(VECTOR, "random"), "other": small_digits()}
    names = {"stream": "mww_okay_nabu_v2_int8", "other": "mlperf_strww_int8"}
    return {key: shared_model(name).read_bytes() for key, name in names.items()}


@pytest.mark.slow
@two_boards
@pytest.mark.parametrize("two_models", ["small", *in_long_run(["public"])], indirect=True)
def test_two_models_in_one_memory(board, two_models):
    """The state of one lasts through runs of the other, which use all other bytes of it."""
    board = board_named(board)
    models = {name: import_tflite(content) for name, content in two_models.items()}
    # Without a proof, operators are planned sooner.
    with PassContext(config={"tir.usmp.algorithm": "hill_climb"}):
        factory = usmp.build(models, board=board)
        alone = {name: usmp.build(mod, board=board).interface for name, mod in models.items()}
    references = {name: Micro(content) for name, content in two_models.items()}
    order = np.random.default_rng(3).choice(list(models), RUNS, p=[0.8, 0.2])
    runs = [(str(name), references[name].random_inputs(i)) for i, name in enumerate(order)]
    expected = as_bytes([references[name].run(given) for name, given in runs])
    host = factory.load()
    assert as_bytes([host.run(given, name) for name, given in runs]) == expected
    module = emulated(factory, board)
    assert as_bytes(module.run(runs).outputs) == expected
    state = factory.interface.state_size_bytes
    assert state == alone["stream"].state_size_bytes > 0
    most = max(alone["stream"].workspace_size_bytes - state, alone["other"].workspace_size_bytes)
    assert memory_bytes(module, board) <= state + most + 16 * len(factory.interface.states)


@pytest.mark.slow
@pytest.mark.parametrize("io", [True, False], ids=["workspace-io", "own-io"])
def test_an_entry_without_inputs_and_outputs(io):
    with PassContext(config={"tir.usmp.use_workspace_io": io}):
        factory = usmp.build(forgetting_model(), board=AN385)
    x = np.ones((1, 8), np.float32)
    order = ["forget", "tell", "learn", "forget", "forget", "tell"]
    runs = [(entry, {} if entry == "forget" else {"x": x}) for entry in order]
    outcome = emulated(factory, AN385).run(runs)
    assert [list(outputs) for outputs in outcome.outputs] == [[], ["y"], ["y"], [], [], ["y"]]
    half = INITIAL.reshape(1, 8) / 2
    np.testing.assert_allclose(outcome.outputs[1]["y"], half @ WEIGHTS, rtol=1e-5)
    np.testing.assert_allclose(outcome.outputs[5]["y"], (half + x) / 4 @ WEIGHTS, rtol=1e-5)


@pytest.mark.slow
def test_entries_with_functions_of_an_accelerator(tmp_path):
    """Each gets the one struct of devices; that of `b` fails on large numbers."""
    require_board(AN385)
    factory = usmp.build({"a": Two, "b": Two}, "my-npu,c", board=AN385)
    symbol, fails = "tvmgen_default_my_npu_main_0", "return input0[0] > 100 ? 7 : 0;"
    for entry in "ab":
        text = TWO_C.replace(symbol, f"tvmgen_default_{entry}_my_npu_main_0")
        text = text.replace("return 0;", fails) if entry == "b" else text
        (tmp_path / f"{entry}.c").write_text(text)
    metadata = factory.metadata["modules"]["default"]
    strict = {"OPTIMIZATION": "-O2 -Werror -pedantic"}
    sources = [tmp_path / "a.c", tmp_path / "b.c"]
    program = EmulatedModule(factory.files(), metadata, AN385, strict, sources)
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, -1, 0.5], np.float32)
    softmax = np.exp(x + y) / np.exp(x + y).sum(axis=1, keepdims=True)
    given = {"x": x, "y": y}
    for outputs in program.run([(entry, given) for entry in "abba"]).outputs:
        np.testing.assert_allclose(outputs["output"], (softmax + x + y).ravel(), rtol=1e-5)
    large = {"x": x + 101, "y": y}
    with pytest.raises(EmulatorError) as error:
        program.run([("a", large), ("b", large), ("a", given)])
    assert str(error.value).splitlines()[-1] == "error: entry b returned a status other than 0"


@pytest.fixture(scope="module")
def entries():
    require_board(AN385)
    return usmp.build(entry_model(), board=AN385)


def test_an_entry_without_a_name(entries):
    module = emulated(entries, AN385)
    x = np.zeros((1, 8), np.float32)
    with pytest.raises(ValueError) as error:
        module.run([{"x": x}])
    assert str(error.value) == (
        'model "default" has 3 entries; choose one by its name: "learn", "tell", "plain"'
    )
    with pytest.raises(ValueError) as error:
        module.run([("tell", {"x": x}), ("forget", {"x": x})])
    assert str(error.value) == (
        'model "default" has no entry "forget". Its entries: learn, tell, plain'
    )
    with pytest.raises(ValueError) as error:
        module.run([("plain", {"x": x})])
    assert str(error.value) == 'input "x" is float32[1, 8]; the model takes float32[3, 8]'


@pytest.mark.slow
def test_the_only_entry_by_its_name():
    module = emulated(usmp.build(streaming_model(), board=AN385), AN385)
    x = np.ones((1, 8), np.float32)
    by_name, without = module.run([("main", {"x": x})]), module.run([{"x": x}])
    assert as_bytes(by_name.outputs) == as_bytes(without.outputs)
    assert by_name.entries == without.entries == ()


@pytest.mark.parametrize(
    ("runs", "inputs", "message"),
    [
        ("learn\nforget\n", 64, "runs.txt asks for an entry that the program lacks: forget"),
        ("learn\nplainly_more\n", 64, "runs.txt asks for an entry that the program lacks: plainl"),
        (" \n\n", 0, "runs.txt names no entry"),
        ("learn tell", 63, "entry tell: inputs.bin ends within its inputs"),
        ("learn tell", 65, "inputs.bin holds more than the inputs of all runs"),
    ],
    ids=["unknown", "long", "empty", "short", "surplus"],
)
def test_files_that_do_not_fit(tmp_path, entries, runs, inputs, message):
    main = entries.files()["project/main.c"].decode()
    project = build_program(AN385, [entries], main, tmp_path)
    (project / "runs.txt").write_text(runs)
    with pytest.raises(EmulatorError) as error:
        run_program(AN385, project, bytes(inputs))
    assert "with exit status 1: " in str(error.value)
    assert str(error.value).splitlines()[-1].endswith(f"error: {message}")


def test_a_program_without_files_runs_each_entry_once(tmp_path, entries):
    """On zeros, although an entry uses the bytes of another one's inputs."""
    main = entries.files()["project/main.c"].decode()
    project = build_program(AN385, [entries], main, tmp_path)
    printed = run_emulator(AN385, project, "model.elf", 60)
    assert [line.split()[0] for line in printed.splitlines()] == [
        *["instructions"] * 3,
        *("stack_used", "stack_size"),
    ]
    x = np.zeros((1, 8), np.float32)
    reference = Entries()
    expected = [reference.run(x, "learn")["y"], reference.run(x, "tell")["y"]]
    outputs = np.frombuffer((project / "outputs.bin").read_bytes(), np.float32)
    np.testing.assert_allclose(outputs[:16], np.concatenate(expected).ravel())
    np.testing.assert_allclose(outputs[16:40], 1)
