"""Matrix products, convolutions and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from support.operator_trials.onnx.one_node import MICROSOFT, Operand, node_trial, opset_of
from support.operator_trials.onnx.samples import broadcast_of, either, shape_of, values
from support.operator_trials.trial import Generator, Tolerance, Trial

SUMS = Tolerance(1e-4, 2e-5)


def gemm(random: Random) -> Trial:
    opset = opset_of(random, "Gemm")
    dtype = random.choice(["float32", "float32", "float64", "int32", "uint32", "int64"])
    dtype = dtype if opset >= 9 else "float32"
    m, n, k = (random.randint(1, 6) for _ in range(3))
    flags = {name: random.choice([None, 0, 1]) for name in ("transA", "transB")}
    factors = {name: random.choice([None, 0.5, 2.0]) for name in ("alpha", "beta")}
    if not dtype.startswith("float"):
        factors = {name: random.choice([None, 1.0, 2.0]) for name in ("alpha", "beta")}
    a, b = ([k, m] if flags["transA"] else [m, k]), ([n, k] if flags["transB"] else [k, n])
    limits = (None, None) if dtype.startswith("float") else (0, 9)
    operands: list[Operand] = [
        values(dtype, a, *limits),
        either(random, values(dtype, b, *limits), 0.6),
    ]
    if opset < 11 or random.random() < 0.7:
        c = random.choice([[m, n], [n], [1, n], [m, 1], [1, 1], [1], []])
        operands.append(either(random, values(dtype, c, *limits), 0.6))
    return node_trial(random, "Gemm", operands, opset, tolerance=SUMS, **flags, **factors)


def mat_mul(random: Random) -> Trial:
    opset = opset_of(random, "MatMul")
    dtype = random.choice(["float32", "float32", "float64", "int32", "uint32", "int64"])
    dtype = dtype if opset >= 9 else "float32"
    m, n, k = (random.randint(1, 6) for _ in range(3))
    batches = shape_of(random, 0, 2, 3)
    a, b = [*broadcast_of(random, batches), m, k], [*broadcast_of(random, batches), k, n]
    if random.random() < 0.2:
        a = [k]
    elif random.random() < 0.2:
        b = [k]
    operands = [values(dtype, a), either(random, values(dtype, b), 0.5)]
    return node_trial(random, "MatMul", operands, opset, tolerance=SUMS)


def mat_mul_integer(random: Random) -> Trial:
    opset = opset_of(random, "MatMulInteger")
    left, right = random.choice(["int8", "uint8"]), random.choice(["int8", "uint8"])
    m, n, k = (random.randint(1, 6) for _ in range(3))
    batches = shape_of(random, 0, 2, 3)
    a, b = [*broadcast_of(random, batches), m, k], [*broadcast_of(random, batches), k, n]
    operands: list[Operand] = [values(left, a), either(random, values(right, b), 0.5)]
    zero_points = [
        either(random, values(left, random.choice([[], [1]])), 0.7),
        either(random, values(right, random.choice([[], [1], [n]])), 0.7),
    ]
    count = random.randint(0, 2)
    operands += zero_points[:count]
    if count == 2 and random.random() < 0.2:
        operands[2] = None
    return node_trial(random, "MatMulInteger", operands, opset)


def mat_mul_integer_16(random: Random) -> Trial:
    m, n, k = (random.randint(1, 6) for _ in range(3))
    types = random.choice([("int16", "int16"), ("uint16", "int16")])
    shapes = ([m, k], [k, n])
    operands = [values(t, s, -999, 999) for t, s in zip(types, shapes, strict=True)]
    return node_trial(
        random,
        "MatMulInteger16",
        operands,
        17,
        domain=MICROSOFT,
        output_types=["int32"],
    )


_EQUATIONS = """ij,jk->ik bij,bjk->bik ij->ji ij->i ij->j ii->i ij,ij->ij ij,kj->ik i,j->ij ij,ij->
bhid,bhjd->bhij ij,jk ij,j->i ...ij,...jk->...ik bij->bji i,i-> ijk,ikl,ilm->ijm ij,jk,kl->il
ii bij,bij->b""".split()


def einsum(random: Random) -> Trial:
    opset = opset_of(random, "Einsum")
    equation = random.choice(_EQUATIONS)
    extents = {letter: random.randint(1, 5) for letter in "bhdijklm"}
    leading = shape_of(random, 0, 2, 3)
    operands = []
    for term in equation.split("->")[0].split(","):
        shape = leading if term.startswith("...") else []
        shape = [*shape, *(extents[letter] for letter in term.removeprefix("..."))]
        dtype = "float32"
        operands.append(values(dtype, shape))
    if random.random() < 0.3:
        equation = equation.replace(",", ", ").replace("->", " -> ")
    return node_trial(random, "Einsum", operands, opset, tolerance=SUMS, equation=equation)


def window_attributes(
    random: Random, operator: str, extents: list[int], kernel: list[int], dilations: list[int]
) -> dict[str, Any]:
    """Strides and pads, or automatic ones, of which the window is never wholly outside."""
    strides = [random.randint(1, 3) for _ in kernel]
    attributes: dict[str, Any] = {"strides": random.choice([None, strides])}
    mode = random.choice([None, None, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    attributes["auto_pad"] = mode
    if mode in (None, "NOTSET") and random.random() < 0.7:
        most = [min(2, (k - 1) * d) for k, d in zip(kernel, dilations, strict=True)]
        if operator != "Conv":
            most = [min(2, k - 1) for k in kernel]
        attributes["pads"] = [random.randint(0, m) for m in (*most, *most)]
    return attributes


def convolution(random: Random) -> Trial:
    opset = opset_of(random, "Conv")
    rank = random.choice([1, 2, 2, 2, 3])
    group = random.choice([1, 1, 2, 3])
    inputs, outputs = group * random.randint(1, 3), group * random.randint(1, 3)
    kernel = [random.randint(1, 3) for _ in range(rank)]
    dilations = [random.randint(1, 2) for _ in kernel]
    extents = [random.randint((k - 1) * d + 1, 8) for k, d in zip(kernel, dilations, strict=True)]
    attributes = window_attributes(random, "Conv", extents, kernel, dilations)
    if attributes["auto_pad"] in ("SAME_UPPER", "SAME_LOWER", "VALID") and random.random() < 0.8:
        dilations = [1] * rank
    operands: list[Operand] = [
        values("float32", [random.randint(1, 2), inputs, *extents]),
        either(random, values("float32", [outputs, inputs // group, *kernel]), 0.7),
    ]
    if random.random() < 0.5:
        operands.append(either(random, values("float32", [outputs]), 0.7))
    return node_trial(
        random,
        "Conv",
        operands,
        opset,
        tolerance=SUMS,
        group=None if group == 1 else group,
        dilations=dilations if max(dilations) > 1 else None,
        kernel_shape=random.choice([None, kernel]),
        **attributes,
    )


def transposed_convolution(random: Random) -> Trial:
    opset = opset_of(random, "ConvTranspose")
    rank = random.choice([1, 2, 2, 3])
    group = random.choice([1, 1, 2])
    inputs, outputs = group * random.randint(1, 2), random.randint(1, 3)
    kernel = [random.randint(1, 4) for _ in range(rank)]
    strides = [random.randint(1, 3) for _ in kernel]
    dilations = [random.choice([1, 1, 2]) for _ in kernel]
    extents = [random.randint(1, 5) for _ in kernel]
    attributes: dict[str, Any] = {}
    mode = random.choice([None, None, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    reach = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
    if mode in (None, "NOTSET"):
        least = [min(1, r // 2) for r in reach]
        attributes["pads"] = random.choice([None, [random.randint(0, m) for m in (*least, *least)]])
    attributes["auto_pad"] = mode
    added = [random.randint(0, s - 1) for s in strides]
    if random.random() < 0.4:
        attributes["output_padding"] = added
    if random.random() < 0.2:
        attributes.pop("output_padding", None)
        attributes.pop("pads", None)
        wanted = [(e - 1) * s + r + 1 for e, s, r in zip(extents, strides, reach, strict=True)]
        attributes["output_shape"] = [max(1, w - random.randint(0, 1)) for w in wanted]
    operands: list[Operand] = [
        values("float32", [random.randint(1, 2), inputs, *extents]),
        either(random, values("float32", [inputs, outputs, *kernel]), 0.7),
    ]
    if random.random() < 0.5:
        operands.append(either(random, values("float32", [outputs * group]), 0.7))
    return node_trial(
        random,
        "ConvTranspose",
        operands,
        opset,
        tolerance=SUMS,
        group=None if group == 1 else group,
        strides=strides,
        dilations=dilations if max(dilations) > 1 else None,
        kernel_shape=random.choice([None, kernel]),
        **attributes,
    )


def attention(random: Random) -> Trial:
    """That of ONNX, of three dimensions or four, with fewer heads of keys than of queries, masks,
    and keys of the past."""
    opset = opset_of(random, "Attention")
    batch, heads, size = random.randint(1, 2), random.randint(1, 3), random.randint(1, 4)
    queries, keys, past = random.randint(1, 4), random.randint(1, 4), random.randint(1, 3)
    query_heads = heads * random.choice([1, 1, 2])
    attributes: dict[str, Any] = {}
    has_past = random.random() < 0.3
    if random.random() < 0.5:
        shapes = [[batch, query_heads, queries, size], *[[batch, heads, keys, size]] * 2]
    else:
        shapes = [[batch, queries, query_heads * size], *[[batch, keys, heads * size]] * 2]
        attributes = {"q_num_heads": query_heads, "kv_num_heads": heads}
    operands: list[Operand] = [values("float32", shape) for shape in shapes]
    if random.random() < 0.6 or has_past:
        mask = random.choice(["float32", "bool", None] if has_past else ["float32", "bool"])
        shape = [queries, keys + has_past * past]
        operands.append(None if mask is None else values(mask, shape))
    if has_past:
        operands += [values("float32", [batch, heads, past, size]) for _ in range(2)]
    attributes["is_causal"] = random.choice([None, 0, 1])
    attributes["scale"] = random.choice([None, 0.5])
    attributes["softcap"] = random.choice([None, None, 2.0])
    outputs = 3 if has_past else 1
    return node_trial(random, "Attention", operands, opset, outputs, tolerance=SUMS, **attributes)


def microsoft_attention(random: Random) -> Trial:
    batch, heads, size = random.randint(1, 2), random.randint(1, 3), random.randint(1, 4)
    length, inner = random.randint(1, 4), heads * size
    width = random.randint(1, 6)
    operands: list[Operand] = [
        values("float32", [batch, length, width]),
        either(random, values("float32", [width, 3 * inner]), 0.7),
        either(random, values("float32", [3 * inner]), 0.7),
    ]
    if random.random() < 0.4:
        operands.append(values("int32", [batch, length], 0, 1))
    return node_trial(
        random,
        "Attention",
        operands,
        17,
        domain=MICROSOFT,
        tolerance=SUMS,
        num_heads=heads,
        unidirectional=random.choice([None, None, None, 1]),
        scale=random.choice([None, None, None, 0.5]),
    )


GENERATORS: Mapping[str, Generator] = {
    "Gemm": gemm,
    "MatMul": mat_mul,
    "MatMulInteger": mat_mul_integer,
    f"{MICROSOFT}.MatMulInteger16": mat_mul_integer_16,
    "Einsum": einsum,
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "Attention": attention,
    f"{MICROSOFT}.Attention": microsoft_attention,
}
