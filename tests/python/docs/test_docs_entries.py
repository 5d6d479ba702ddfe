"""What docs/entries.md shows works as it stands there."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from conftest import ROOT
from support.small_digits import small_digits
from usmp.driver.tvmc import main

pytestmark = pytest.mark.cc

PAGE = (ROOT / "docs/entries.md").read_text()
COMMANDS = [
    shlex.split(line.strip())[1:]
    for line in PAGE.replace("\\\n", " ").splitlines()
    if line.startswith("    tvmc ")
]
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def commands_with(file: str) -> list[list[str]]:
    return [command for command in COMMANDS if file in " ".join(command)]


@pytest.mark.slow
def test_several_models(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("wake_word", "detector", "control", "vision"):
        (tmp_path / f"{name}.tflite").write_bytes(small_digits())
    ran = [*commands_with("detector"), *commands_with("vision.tflite")]
    assert len(ran) == 3
    assert [main(command) for command in ran] == [0, 0, 0]
    assert "probabilities: int8[1, 10]" in capsys.readouterr().out
    in_turn, at_once = (
        usmp.load_archive(name).modules[module].metadata["memory"]["ram"]["workspace_size_bytes"]
        for name, module in (("app.tar", "app"), ("both.tar", "default"))
    )
    # The second begins where the 16 bytes end in which the first one does.
    assert at_once == -(-in_turn // 16) * 16 + in_turn
    code = SNIPPETS[0].replace("samples", "image").replace('"x"', '"image"')
    image = np.zeros((1, 8, 8, 1), np.int8)
    scope = {"usmp": usmp, "image": image}
    exec(code, scope)
    for name in ("wake_word", "detector"):
        assert f"tvmgen_app_{name}_run" in PAGE
        assert f"int32_t tvmgen_app_{name}_run(" in scope["factory"].header


@pytest.mark.slow
def test_methods_of_a_pytorch_module(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="make test installs torch")
    monkeypatch.chdir(tmp_path)

    class Cache(torch.nn.Module):
        def __init__(self, rows):
            super().__init__()
            self.rows = rows
            self.register_buffer("kept", torch.zeros(4, 2))

        def forward(self, x):
            self.kept[: self.rows] = x
            return self.kept.sum()

    for name, rows in (("prefill", 3), ("decode", 1)):
        program = torch.export.export(Cache(rows).eval(), (torch.ones(rows, 2),))
        torch.export.save(program, f"{name}.pt2")
    (command,) = commands_with("--shared-state")
    assert main([*command, "-q"]) == 0
    module = usmp.load_archive("llm.tar").load()
    assert module.run({"x": np.ones((3, 2), np.float32)}, "prefill")["sum_1"] == 6
    assert module.run({"x": np.full((1, 2), 5, np.float32)}, "decode")["sum_1"] == 14


def test_the_module_with_a_state(tmp_path, capsys):
    # TVM's parser reads the source of a class from its file.
    file = tmp_path / "meter.py"
    file.write_text(SNIPPETS[1])
    scope = {"np": np, "tvm": tvm, "usmp": usmp, "I": I, "R": R, "StateInfo": usmp.StateInfo}
    exec(compile(SNIPPETS[1], str(file), "exec"), scope)
    assert capsys.readouterr().out == "1.0\n"
    assert [entry.name for entry in scope["factory"].interface.entries] == ["add", "mean"]
