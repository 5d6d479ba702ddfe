"""`tvm_access_ptr`: a pointer that says what is done through it."""

import pytest
from tvm import tirx
from tvm.ir import PointerType, PrimType

from usmp.analysis.memory.facts import facts_of_functions
from usmp.codegen.c.function import print_function
from usmp.codegen.c.helpers import Helpers


def printed(mask: int, offset: tirx.Expr | int = 0) -> tuple[str, str]:
    """A function that passes such a pointer on, and the declaration of what it calls."""
    data = tirx.Var("data", PointerType(PrimType("int16")))
    pointer = tirx.call_intrin(
        PointerType(PrimType("int16")),
        "tirx.tvm_access_ptr",
        tirx.type_annotation("int16"),
        data,
        offset,
        4,
        mask,
    )
    func = tirx.PrimFunc([data], tirx.Evaluate(tirx.call_extern("int32", "other", pointer)))
    helpers = Helpers()
    text = print_function(facts_of_functions({"f": func}).of("f"), {"f": "f"}, helpers)
    return text, helpers.externs["other"]


@pytest.mark.parametrize(("mask", "const"), [(1, "const "), (2, ""), (3, "")])
def test_what_is_only_read_is_const(mask, const):
    text, declaration = printed(mask)
    assert declaration == f"extern int32_t other({const}int16_t*);"
    assert text == (
        f"static void f({const}int16_alias* data) {{\n  other(({const}int16_t*)data);\n}}"
    )


def test_an_offset_counts_elements():
    assert "  other((const int16_t*)(data + 6));\n" in printed(1, 6)[0]
