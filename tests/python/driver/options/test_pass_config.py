"""`--pass-config NAME=VALUE`."""

from __future__ import annotations

import pytest

from usmp.driver.errors import UsageError
from usmp.driver.options.pass_config import pass_context


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("tir.usmp.enable=1", True),
        ("tir.usmp.enable=true", True),
        ("tir.usmp.enable=True", True),
        ("tir.usmp.enable=0", False),
        ("tir.usmp.enable=false", False),
        ("tir.usmp.use_workspace_io=1", True),
        ("tir.usmp.algorithm=greedy_by_conflicts", "greedy_by_conflicts"),
        ("tir.usmp.custom_algorithm=a=b", "a=b"),
        ("tir.usmp.stream_inputs=image,x:0", ["image", "x:0"]),
        ('tir.usmp.stream_outputs=["a,b"]', ["a,b"]),
    ],
)
def test_value_has_the_type_of_the_option(setting, value):
    read = pass_context([setting]).config[setting.partition("=")[0]]
    assert read == value
    assert type(read) is type(value) or not isinstance(read, bool | int)


def test_the_last_of_two_settings_counts():
    context = pass_context(["tir.usmp.enable=1", "tir.usmp.enable=0"])
    assert context.config["tir.usmp.enable"] is False


def test_option_of_tvm():
    assert pass_context(["tirx.disable_vectorize=1"]).config["tirx.disable_vectorize"] is True


def test_option_of_tvm_as_tvm_0_18_called_it():
    config = pass_context(["tir.disable_storage_rewrite=1"]).config
    assert dict(config) == {"tirx.disable_storage_rewrite": True}


def test_only_a_whole_name_is_known():
    with pytest.raises(UsageError, match=r'^unknown pass option "disable_vectorize"'):
        pass_context(["disable_vectorize=1"])


def test_optimization_level_is_that_of_tvmc():
    assert pass_context([]).opt_level == 3


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("tir.usmp.enable", '--pass-config tir.usmp.enable: write it as "NAME=VALUE"'),
        ("tir.usmp.enable=", "pass option tir.usmp.enable takes 0 or 1, not "),
        ("tir.usmp.enable=yes", "pass option tir.usmp.enable takes 0 or 1, not yes"),
        (
            "usmp.enable=1",
            'unknown pass option "usmp.enable". Did you mean "tir.usmp.enable"? See tvmc list '
            "pass-configs for those of the planner",
        ),
    ],
)
def test_wrong_setting(setting, message):
    with pytest.raises(UsageError) as error:
        pass_context([setting])
    assert str(error.value) == message
