"""Arguments of `usmp.build`, and those that `tvm.relay.build` had in another place."""

from __future__ import annotations

import pytest
from tvm.target import Target

from usmp.objects.arguments.build_arguments import (
    check_executor,
    check_target_host,
    check_types,
    one_module_name,
    only_model,
)
from usmp.objects.arguments.executor import Executor
from usmp.objects.arguments.runtime import Runtime
from usmp.objects.pools import ConstantMemoryPools, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.target.targets import parse_targets
from usmp.support.compatibility import CompatibilityNote

BY_POSITION = (
    "; the order of arguments is not that of tvm.relay.build; write those after target by name, as "
    'executor=usmp.Executor("aot")'
)


def test_arguments_of_their_class_are_taken():
    pool = WorkspacePoolInfo("p", [Target("c")])
    check_types(runtime=Runtime("crt"), workspace_memory_pools=WorkspaceMemoryPools([pool]))
    check_types(state_memory_pool=pool, runtime=None)
    check_types(state_memory_pool="p", io_memory_pool="p")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runtime": "crt"}, "runtime takes Runtime, not str"),
        (
            {"workspace_memory_pools": ConstantMemoryPools([])},
            "workspace_memory_pools takes WorkspaceMemoryPools, not ConstantMemoryPools",
        ),
        ({"runtime": None, "io_memory_pool": 3}, "io_memory_pool takes str, not int"),
        (
            {"state_memory_pool": 3},
            "state_memory_pool takes WorkspacePoolInfo, not int",
        ),
        ({"runtime": Executor("aot")}, f"runtime takes Runtime, not Executor{BY_POSITION}"),
        (
            {"state_layout": Runtime("crt")},
            f"state_layout takes StateLayout, not Runtime{BY_POSITION}",
        ),
    ],
)
def test_arguments_of_another_class_are_refused(arguments, message):
    with pytest.raises(TypeError) as caught:
        check_types(**arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("executor", [None, Executor("aot"), "aot", "graph", ""])
def test_executors_and_names_are_taken(executor):
    check_executor(executor)


@pytest.mark.parametrize(
    ("executor", "what"),
    [
        ("c", 'target "c"'),
        ("llvm -mcpu=x", 'target "llvm -mcpu=x"'),
        (3, "int"),
        (Runtime("crt"), "Runtime"),
    ],
)
def test_a_target_in_the_place_of_the_executor_is_refused(executor, what):
    with pytest.raises(TypeError) as caught:
        check_executor(executor)
    message = f"executor takes an Executor or its name, not {what}{BY_POSITION}"
    assert str(caught.value) == message


def test_one_model_is_given():
    assert only_model("a", None) == "a"
    assert only_model(None, "b") == "b"
    assert only_model(None, None) is None
    with pytest.raises(TypeError, match="two names of one argument"):
        only_model("a", "a")


@pytest.mark.parametrize(
    ("names", "name"),
    [
        ((None, None), "default"),
        (("a", None), "a"),
        ((None, "b"), "b"),
        (("a", "a"), "a"),
    ],
)
def test_the_module_has_one_name(names, name):
    assert one_module_name(*names) == name


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a", "b"), 'module_name "a" and mod_name "b" contradict each other; give one of them'),
        (("", "a"), 'module_name "" and mod_name "a" contradict each other; give one of them'),
        (("", None), "module_name is empty; it is the prefix of the C symbols"),
        ((None, ""), "module_name is empty; it is the prefix of the C symbols"),
    ],
)
def test_contradicting_and_empty_names_are_refused(names, message):
    with pytest.raises(ValueError) as caught:
        one_module_name(*names)
    assert str(caught.value) == message


def test_the_host_is_the_target():
    targets = parse_targets("c -mcpu=cortex-m4")
    check_target_host(None, targets)
    for host in ("c -mcpu=cortex-m4", Target({"kind": "c", "mcpu": "cortex-m4"})):
        with pytest.warns(CompatibilityNote, match=r"^target_host: "):
            check_target_host(host, targets)
    for host in ("c", "llvm", "nonsense -x"):
        with pytest.raises(ValueError, match="nothing on another host; leave it out"):
            check_target_host(host, targets)
