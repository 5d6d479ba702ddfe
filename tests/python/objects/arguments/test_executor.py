"""`Executor`: TVM's options of the AoT executor."""

from __future__ import annotations

import pytest
import tvm

from usmp import Executor
from usmp.objects.arguments.executor import check_workspace_io, executor_of


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
    ("options", "is_packed"),
    [
        ({}, False),
        ({"interface-api": "c"}, False),
        ({"interface-api": "c", "unpacked-api": 1}, False),
        ({"unpacked-api": True}, False),
        ({"interface-api": "packed"}, True),
        ({"interface-api": "packed", "unpacked-api": 0}, True),
    ],
)
def test_interfaces(options, is_packed):
    assert Executor("aot", options).is_packed is is_packed


@pytest.mark.parametrize("interface", ["c", "packed"])
@pytest.mark.parametrize("use_workspace_io", [False, True])
def test_only_the_c_interface_has_places_in_the_workspace(interface, use_workspace_io):
    executor = Executor("aot", {"interface-api": interface})
    if interface == "c" or not use_workspace_io:
        check_workspace_io(executor, use_workspace_io)
        return
    with pytest.raises(ValueError) as error:
        check_workspace_io(executor, use_workspace_io)
    assert str(error.value) == (
        "tir.usmp.use_workspace_io option is only compatible with interface_api c. Please use "
        "interface_api c to be able to enable tir.usmp.use_workspace_io"
    )


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("vm", None, 'unknown executor "vm". Executors: aot'),
        (
            "graph",
            None,
            'Executor("graph"): main is a C function that calls the operators, and there is no '
            'graph in JSON; write Executor("aot"), the default',
        ),
        ("", None, 'unknown executor "". Executors: aot'),
        (
            "aot",
            {"nope": 1},
            'unknown option "nope" of executor aot. Options: constant-byte-alignment, '
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
            {"interface-api": "rpc"},
            'option interface-api of executor aot must be "c" or "packed", not rpc',
        ),
        (
            "aot",
            {"unpacked-api": False},
            'Either need interface-api == "packed" (got: c) or unpacked-api == true (got: 0); '
            "for functions of C leave unpacked-api out, for packed functions set "
            "interface-api=packed, without runtime crt",
        ),
        (
            "aot",
            {"unpacked-api": "no"},
            "option unpacked-api of executor aot must be true or false, not no",
        ),
        (
            "aot",
            {"interface-api": "packed", "unpacked-api": True},
            'Need unpacked-api == false (got: 1) with interface-api == "packed"; '
            "leave unpacked-api out",
        ),
        (
            "aot",
            {"link-params": 0},
            "link-params=0: constants are part of the C; with constant_memory_pools, or "
            "--constant-pools of tvmc, the application gives their memory; leave it out",
        ),
        (
            "aot",
            {"link-params": "no"},
            "option link-params of executor aot must be true, not no",
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
