"""Into which pieces a group of fused operators is split."""

from __future__ import annotations

import pytest
from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule, PrimType

from usmp.relax.transform.groups.pieces import operands, pieces_of

LARGE, SMALL = (4, 8), (8,)


def operators(dtype: str) -> IRModule:
    """PrimFuncs whose bodies compute what their names say."""
    a, b = (tirx.Var(name, PrimType(dtype)) for name in "ab")
    values = {"add": a + b, "multiply": a * b}
    if dtype.startswith("float"):
        values |= {"divide": a / b, "power": tirx.pow(a, b), "indexed": a + tirx.Cast(dtype, 1)}
    return IRModule(
        {GlobalVar(name): tirx.PrimFunc([a, b], tirx.Evaluate(v)) for name, v in values.items()}
    )


class Group:
    """Operators of tensors that are named: `x` to `z` and `w` are large, `b` and `c` are small."""

    def __init__(
        self, *calls: str, dtype: str = "float32", result: str | None = None, **shapes: tuple
    ) -> None:
        """Calls such as `e = add x y`; one that ends in ` small` makes a small result."""
        self.mod = operators(dtype)
        shapes = {**dict.fromkeys("wxyz", LARGE), **dict.fromkeys("bc", SMALL), **shapes}
        self.params = {n: relax.Var(n, relax.TensorType(s, dtype)) for n, s in shapes.items()}
        known, bindings = dict(self.params), []
        for call in calls:
            name, _, operator, *read = call.split()
            shape = SMALL if read[-1] == "small" else LARGE
            arguments = relax.Tuple([known[each] for each in read if each != "small"])
            type_ = relax.TensorType(shape, dtype)
            value = relax.call_tir(self.mod.get_global_var(operator), arguments, type_)
            known[name] = relax.DataflowVar(name, type_)
            bindings.append(relax.VarBinding(known[name], value))
        read = {var for binding in bindings for var in operands(binding)}
        params = [var for var in self.params.values() if var in read]
        body = relax.SeqExpr(
            [relax.DataflowBlock(bindings)], known[result or bindings[-1].var.name]
        )
        self.function = relax.Function(params, body, body.body.ty)

    def pieces(self, *constants: str) -> list[str]:
        """Names of the results in each piece, and what it reads."""
        found = pieces_of(self.mod, self.function, {self.params[name] for name in constants})
        assert all(each.result.same_as(each.bindings[-1].var) for each in found)
        return [
            f"{''.join(b.var.name for b in each.bindings)}({''.join(v.name for v in each.reads)})"
            for each in found
        ]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        # Up to two large tensors, a group stays whole.
        (["e = add x y", "f = add e b"], ["ef(xyb)"]),
        (["e = add x x", "f = add e y"], ["ef(xy)"]),
        # A chain of sums reads the sum before and one more.
        (["e = add x y", "f = add e z"], ["e(xy)", "f(ez)"]),
        (["e = add x y", "f = add e z", "g = add f w"], ["e(xy)", "f(ez)", "g(fw)"]),
        # What makes one operand stays with what reads it.
        (["d = add x b", "e = add d y", "f = add e z"], ["de(xby)", "f(ez)"]),
        (["e = add x y", "f = add e b", "g = add f z"], ["ef(xyb)", "g(fz)"]),
        (["e = add x y", "d = add z b", "f = add e d"], ["e(xy)", "df(zbe)"]),
        # A result with two readers is stored; one that is read twice by one operator is not.
        (
            ["d = add x b", "e = add d y", "f = add d z", "g = add e f"],
            ["d(xb)", "e(dy)", "f(dz)", "g(ef)"],
        ),
        (["d = add x b", "e = add d d", "f = add e y", "g = add f z"], ["def(xby)", "g(fz)"]),
        # An operator that reads three large tensors already may read them as a part.
        (["d = add x b", "f = add d y z"], ["df(xbyz)"]),
        (["d = add x w", "f = add d y z"], ["d(xw)", "f(dyz)"]),
        # Small results make operands large.
        (["e = add b c small", "f = add e b small"], ["ef(bc)"]),
        (["e = add x y small", "f = add e z small"], ["e(xy)", "f(ez)"]),
    ],
)
def test_a_piece_reads_few_large_tensors(calls, expected):
    assert Group(*calls).pieces() == expected


SUMS = ["e = add x y", "f = add e z"]


def test_constants_take_no_memory_that_could_be_freed():
    assert Group(*SUMS).pieces("x") == ["ef(xyz)"]
    assert Group(*SUMS, "g = add f w").pieces("y") == ["ef(xyz)", "g(fw)"]


@pytest.mark.parametrize(
    ("dtype", "operator", "is_split"),
    [
        ("float32", "add", True),
        ("float64", "add", True),
        ("int8", "add", True),
        ("int8", "multiply", True),
        # Small floats would be rounded, products could be contracted with a sum.
        ("float16", "add", False),
        ("float32", "multiply", False),
        ("float32", "divide", False),
        ("float64", "power", False),
    ],
)
def test_results_that_may_be_rounded_otherwise_are_not_stored(dtype, operator, is_split):
    calls = [f"e = {operator} x y", "f = add e z", "g = add f w"]
    stays = ["e(xy)", "f(ez)", "g(fw)"] if is_split else ["ef(xyz)", "g(fw)"]
    if dtype == "float16":
        stays = ["efg(xyzw)"]
    assert Group(*calls, dtype=dtype).pieces() == stays
    twice = [f"d = {operator} x y", "e = add d z", "f = add d w", "g = add e f"]
    pieces = Group(*twice, dtype=dtype).pieces()
    assert (len(pieces) > 1) == is_split


def test_the_last_product_is_stored_anyway():
    assert Group("e = add x y", "f = multiply e z").pieces() == ["e(xy)", "f(ez)"]


def test_a_group_with_another_result_stays_whole():
    group = Group(*SUMS, "g = add f w", result="f")
    assert group.pieces() == ["efg(wxyz)"]


def changed(group: Group, change) -> list[str]:
    """The pieces with the first binding changed."""
    first, *others = group.function.body.blocks[0].bindings
    value = change(first.value)
    block = relax.DataflowBlock([relax.VarBinding(first.var, value), *others])
    body = relax.SeqExpr([block], group.function.body.body)
    group.function = relax.Function(list(group.function.params), body, body.body.ty)
    return group.pieces()


def test_operators_whose_sizes_only_the_run_knows_stay_in_the_group():
    def with_sizes(call: Call) -> Call:
        return Call(call.op, [*call.args, relax.ShapeExpr([4])], call.attrs, call.ty_args)

    def in_place(call: Call) -> Call:
        return relax.op.add(*call.args[1].fields)

    assert len(changed(Group(*SUMS), lambda call: call)) == 2
    assert len(changed(Group(*SUMS), with_sizes)) == 1
    assert len(changed(Group(*SUMS), in_place)) == 1


def test_operators_of_symbolic_sizes_stay_in_the_group():
    assert Group(*SUMS, y=(tirx.Var("n", "int64"), 8)).pieces() == ["ef(xyz)"]


def test_very_large_groups_stay_whole():
    calls = ["e0 = add x y", *(f"e{n} = add e{n - 1} b" for n in range(1, 500))]
    assert len(Group(*calls, "f = add e499 z").pieces()) == 1
