"""`Executor`: TVM's options of the AoT executor."""

from __future__ import annotations

import pytest
import tvm

from usmp import Executor
from usmp.objects.executor import executor_of


def test_defaults():
    executor = Executor()
    assert executor.name == "aot"
    assert executor.workspace_byte_alignment == 16
    assert executor.constant_byte_alignment == 16


def test_options_of_tvm():
    executor = Executor(
        "aot",
        {
            "workspace-byte-alignment": 4,
            "constant-byte-alignment": 8,
            "interface-api": "c",
            "unpacked-api": True,
            "link-params": 1,
        },
    )
    assert executor.workspace_byte_alignment == 4
    assert executor.constant_byte_alignment == 8


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("graph", None, 'unknown executor "graph"; supported: "aot"'),
        ("", None, 'unknown executor ""; supported: "aot"'),
        (
            "aot",
            {"nope": 1},
            'unknown option "nope" of executor aot; supported: constant-byte-alignment, '
            "interface-api, link-params, unpacked-api, workspace-byte-alignment",
        ),
        *(
            (
                "aot",
                {f"{side}-byte-alignment": value},
                f"option {side}-byte-alignment of executor aot must be a power of two (bytes), "
                f"not {value}",
            )
            for side in ("workspace", "constant")
            for value in (0, -4, 3, "16", 8.0, True, None)
        ),
        (
            "aot",
            {"interface-api": "packed"},
            'option interface-api of executor aot must be "c" '
            "(the packed interface is not supported), not packed",
        ),
        (
            "aot",
            {"unpacked-api": False},
            "option unpacked-api of executor aot must be true (the packed API is not supported), "
            "not False",
        ),
        (
            "aot",
            {"link-params": 0},
            "option link-params of executor aot must be true (constants are part of the code), "
            "not 0",
        ),
    ],
)
def test_wrong_executor(name, options, message):
    with pytest.raises(ValueError) as error:
        Executor(name, options)
    assert str(error.value) == message


def test_executor_of_a_module():
    mod = tvm.IRModule().with_attr("executor", Executor("aot", {"constant-byte-alignment": 2}))
    assert executor_of(mod).constant_byte_alignment == 2


def test_module_without_executor_has_the_default_one():
    assert executor_of(tvm.IRModule()).constant_byte_alignment == 16


def test_executor_of_a_module_with_something_else():
    with pytest.raises(ValueError) as error:
        executor_of(tvm.IRModule().with_attr("executor", "aot"))
    assert str(error.value) == (
        'the attribute "executor" of the module must be an Executor, not aot'
    )
