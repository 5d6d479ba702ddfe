"""What fails in usmp itself reaches the user as one line that says so, and where it was."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

import usmp
from support.commands import message_of
from support.onnx_models import small_model
from usmp.codegen.c.function import _FunctionPrinter
from usmp.driver import tvmc
from usmp.planning import placed_buffers
from usmp.relax.transform import fold_constants
from usmp.support.errors import FaultError, OutOfMemoryError

REPORT = "; this is a fault of usmp, please report it with the model"
# What is at fault -> an attribute whose wrong value makes it so, and what the user is told.
FAULTS = {
    "lowering": (
        (fold_constants, "nodes_of", None),
        "usmp fails to lower operator relax.add (result ",
        "TypeError: 'NoneType' object is not callable",
    ),
    "planning": (
        (placed_buffers, "used_overlaps", dict),
        "usmp fails to plan the memory: ",
        "TypeError: dict expected at most 1 argument, got 2",
    ),
    "code generation": (
        (_FunctionPrinter, "_STATEMENTS", None),
        "usmp fails to write operator add in C: ",
        "AttributeError: 'NoneType' object has no attribute 'get'",
    ),
}


def module():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(relax.op.add(x, relax.const(np.ones(4, np.float32))))
        builder.emit_func_output(output)
    return builder.get()


@pytest.mark.parametrize("stage", FAULTS)
def test_build(stage, monkeypatch):
    (owner, name, wrong), start, reason = FAULTS[stage]
    monkeypatch.setattr(owner, name, wrong)
    with pytest.raises(FaultError) as error:
        usmp.build(module()).files()
    message = str(error.value).split("\n\n")[0]
    assert message.startswith(start)
    assert message.endswith(reason + REPORT)
    assert type(error.value.__cause__).__name__ == reason.split(":")[0]


@pytest.mark.parametrize(
    ("owner", "name", "step"),
    [
        (fold_constants, "nodes_of", "to lower operator relax.add (result "),
        (placed_buffers, "used_overlaps", "to plan the memory (4 GiB), and "),
    ],
    ids=["lowering", "planning"],
)
def test_out_of_memory(owner, name, step, monkeypatch):
    """The message names the step of usmp, and the operator."""

    def fails(*arguments):
        raise MemoryError("4 GiB")

    monkeypatch.setattr(owner, name, fails)
    with pytest.raises(OutOfMemoryError) as error:
        usmp.build(module())
    message = str(error.value).split("\n\n")[0]
    assert message.startswith(f"usmp has not enough memory {step}")
    assert message.endswith("or use a machine with more memory")


@pytest.mark.slow
@pytest.mark.models
def test_tvmc(monkeypatch, tmp_path, capfd):
    (owner, name, wrong), start, reason = FAULTS["planning"]
    monkeypatch.setattr(owner, name, wrong)
    (tmp_path / "m.onnx").write_bytes(small_model())
    arguments = ["compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.tar")]
    assert tvmc.main(arguments) == 1
    assert message_of(capfd.readouterr().err) == f"{start}{reason}{REPORT}"
    assert not (tmp_path / "m.tar").exists()
