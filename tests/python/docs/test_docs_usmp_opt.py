"""The commands of docs/usmp-opt.md print what the page shows."""

from __future__ import annotations

import re
import shlex

import pytest

from conftest import ROOT
from usmp.driver.opt import opt

PAGE = (ROOT / "docs/usmp-opt.md").read_text()
SHOWN = re.findall(r"```console\n\$ usmp-opt ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)


def test_there_are_commands():
    assert len(SHOWN) == PAGE.count("```console") == 4


@pytest.mark.parametrize(("arguments", "shown"), SHOWN)
def test_command(arguments, shown, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (script,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "net.py").write_text(script)
    status = opt.main(shlex.split(arguments))
    assert status == int(shown.startswith("usmp-opt: error: "))
    output = "".join(capfd.readouterr())
    for part in filter(None, re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)):
        assert part in output
