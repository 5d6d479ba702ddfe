from tvm.script import tirx as T

from usmp.tir.global_symbol import global_symbol, with_new_symbol


@T.prim_func
def public(x: T.Buffer((4,), "int8")):
    x[0] = T.int8(0)


@T.prim_func(private=True)
def private(x: T.Buffer((4,), "int8")):
    x[0] = T.int8(0)


def test_a_public_function_gets_another_symbol():
    assert global_symbol(public) == "public"
    renamed = with_new_symbol(public, "other")
    assert (global_symbol(renamed), global_symbol(public)) == ("other", "public")
    assert renamed.body.same_as(public.body)


def test_a_private_function_stays_private():
    assert global_symbol(private) is None
    assert with_new_symbol(private, "other").same_as(private)
    bare = private.without_attr("tirx.noalias")
    assert global_symbol(bare) is None and not with_new_symbol(bare, "other").attrs
