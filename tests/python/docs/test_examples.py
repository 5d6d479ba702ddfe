"""Each program in examples/ runs as it stands there, and prints what it says."""

from __future__ import annotations

import ast
import contextlib
import io
import re

import pytest

from conftest import ROOT
from support.board_programs import require_board
from support.python_here import run_script
from usmp.boards.board import board_named

pytestmark = pytest.mark.usefixtures("digits_session")

EXAMPLES = ROOT / "examples"
NUMBERED = sorted(path for path in EXAMPLES.iterdir() if path.name[:2].isdigit())


def printed(script: str, folder) -> list[str]:
    """The lines that an example prints; it leaves no file where it runs."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        lines = run_script(EXAMPLES / script, folder=folder).splitlines()
    assert errors.getvalue() == ""
    assert list(folder.iterdir()) == []
    return lines


def words(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


@pytest.mark.cc
def test_01_first_pass(tmp_path):
    lines = printed("01_first_pass.py", tmp_path)
    assert "    clipped = T.decl_buffer((64,), " in "\n".join(lines)
    assert words(lines[-3:]) == [
        ["positive", "sram[64]"],
        ["flipped", "sram[0]"],
        ["clipped", "sram[0]", "flipped"],
    ]


@pytest.mark.cc
def test_02_build_a_model(tmp_path):
    lines = printed("02_build_a_model.py", tmp_path)
    assert lines[:3] == [
        'AOTExecutorFactoryModule "classifier": RAM 224 bytes',
        "  pools: global_const_workspace 2704, global_workspace 144",
        "  features float32[1, 16] -> output float32[1, 4]",
    ]
    workspace = [line for line in words(lines) if line[0].startswith("global_workspace[")]
    assert workspace == [
        ["global_workspace[0]", "128", "bytes", "fused_matmul_add_relu"],
        ["global_workspace[128]", "16", "bytes", "fused_matmul1_add1"],
    ]
    best, total = lines[-1].split()
    assert best == "1"
    assert float(total) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.cc
def test_03_custom_algorithm(tmp_path):
    rows = words(printed("03_custom_algorithm.py", tmp_path))
    assert {name: (int(ram), int(bound)) for name, ram, *_, bound in rows} == {
        "largest_first": (1354, 928),
        "greedy_by_size": (1098, 1024),
        "hill_climb": (1002, 928),
        "auto": (1002, 928),
    }


@pytest.mark.slow
@pytest.mark.cc
def test_04_memory_pools(tmp_path):
    lines = printed("04_memory_pools.py", tmp_path)
    assert words(lines[:4]) == [
        ["dtcm", "544", "bytes"],
        ["flash", "22120", "bytes"],
        ["itcm", "4992", "bytes"],
        ["sram", "512", "bytes"],
    ]
    assert lines[4] == "With dtcm alone:"
    assert 'The smallest size_hint_bytes with which a plan fits: 928 for pool "dtcm".' in lines[-1]


@pytest.mark.cc
def test_05_solver(tmp_path):
    assert words(printed("05_solver.py", tmp_path)) == [
        ["image", "4096"],
        ["features", "0"],
        ["filtered", "4096"],
        ["sum", "4096"],
        ["peak", "{'sram':", "8192}", "optimal", "True"],
    ]


@pytest.mark.slow
@pytest.mark.board
def test_07_board(tmp_path):
    require_board(board_named("mps3-an547"))
    lines = printed("07_board.py", tmp_path)
    assert [".pool_dtcm", "dtcm", "0x20004000", "1024"] in words(lines)
    assert lines[-1] == "10 of 10 images: the same output on the board as of the reference"


@pytest.mark.cc
def test_each_is_in_the_list_and_has_a_test():
    """The accelerator is tested in test_accelerator_docs.py."""
    listed = re.findall(r"^\| \[(.*?)\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert listed == [path.name for path in NUMBERED]
    tested = {name for name in globals() if re.match(r"test_\d\d_", name)}
    assert tested == {f"test_{path.stem}" for path in NUMBERED if path.is_file()}


@pytest.mark.cc
@pytest.mark.parametrize("path", NUMBERED, ids=[path.name for path in NUMBERED])
def test_the_docstring_has_the_command(path):
    script = path / "run.py" if path.is_dir() else path
    docstring = ast.get_docstring(ast.parse(script.read_text()))
    assert f"    python {script.relative_to(ROOT)}" in docstring


@pytest.mark.slow
@pytest.mark.cc
def test_08_entries(tmp_path):
    lines = printed("08_entries.py", tmp_path)
    assert lines[2:4] == [
        "  listen: x float32[1, 8] -> output float32[]",
        "  recall: weights float32[1, 4] -> output float32[1, 8]",
    ]
    places = {name: place for place, *_, name in words(lines[4:-1])}
    assert places["kept"].startswith("global_workspace[")
    assert sum(line[-1] == "kept" for line in words(lines)) == 1
    # The last four inputs are 0, 1, 2 and 3.
    assert lines[-1] == "3210.0"


@pytest.mark.slow
@pytest.mark.cc
def test_09_pytorch_methods(tmp_path):
    pytest.importorskip("torch", reason="make test installs it; by hand: pip install torch")
    assert printed("09_pytorch_methods.py", tmp_path) == [
        "keys: 4096 bytes at 0",
        "values: 4096 bytes at 4096",
        "workspace: 8960 bytes, optimal: True",
        "57 steps, differences from PyTorch below 1e-5: True",
    ]


@pytest.mark.slow
@pytest.mark.board
def test_10_profile(tmp_path):
    require_board(board_named("mps2-an385"))
    lines = printed("10_profile.py", tmp_path)
    assert len(lines) == 7
    row = "depthwise_conv2d 3x3 + conv2d 1x1 + add 20992 MACs".split()
    assert words(lines)[1][: len(row)] == row
    assert re.fullmatch(r"conv2d3_to_max_pool takes \d\d% of the instructions", lines[-1])


@pytest.mark.slow
@pytest.mark.models
def test_11_executorch_methods(tmp_path):
    pytest.importorskip("executorch.exir", reason="make test installs executorch")
    # Not `printed`, because ExecuTorch's runtime reports the CPU's features on stderr.
    script = EXAMPLES / "11_executorch_methods.py"
    shared, alone = run_script(script, folder=tmp_path).splitlines()
    assert shared.startswith("share_mutable_buffers=True: sums 4, then 10; bytes ")
    assert alone.startswith("share_mutable_buffers=False: sums 4, then 4; bytes ")
