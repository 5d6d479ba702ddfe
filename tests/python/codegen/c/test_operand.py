"""Operands are converted where C computes in `int`, which may have 16 bits, and TIR in more."""

import tvm_ffi
from tvm import tirx
from tvm.ir import Var

from usmp.codegen.c.expression import ExpressionPrinter
from usmp.codegen.c.helpers import Helpers

A, W = (tirx.Var(name, dtype) for name, dtype in (("a", "int32"), ("w", "uint32")))
S, U, H, V = (
    tirx.Var(name, dtype)
    for name, dtype in (("s", "int8"), ("u", "uint8"), ("h", "int16"), ("v", "uint16"))
)
P, Q = tirx.Var("p", "bool"), tirx.Var("q", "bool")


def int32(value):
    return tirx.IntImm("int32", value)


def uint32(value):
    return tirx.IntImm("uint32", value)


def to_c(expr):
    names = {}
    tvm_ffi.structural_walk(expr, (Var, lambda var: names.update({var: var.name})))
    return ExpressionPrinter(names, set(), {}, Helpers()).print(expr)


CHOICE, OTHER = tirx.Select(P, int32(1), int32(-300)), tirx.Select(Q, int32(300), int32(4))
FLAGS = tirx.Select(P, uint32(0), uint32(5))


def test_int32():
    cases = [
        (CHOICE * OTHER, "(int32_t)(p ? 1 : -300) * (q ? 300 : 4)"),
        (CHOICE + OTHER, "(p ? 1 : -300) + (q ? 300 : 4)"),
        ((CHOICE + OTHER) * OTHER, "(int32_t)((p ? 1 : -300) + (q ? 300 : 4)) * (q ? 300 : 4)"),
        (CHOICE * 110, "(int32_t)(p ? 1 : -300) * 110"),
        (CHOICE * 109, "(p ? 1 : -300) * 109"),
        (CHOICE * 110 - OTHER, "(int32_t)(p ? 1 : -300) * 110 - (q ? 300 : 4)"),
        (CHOICE * A, "(p ? 1 : -300) * a"),
        (tirx.Select(P, A, int32(1)) * OTHER, "(p ? a : 1) * (q ? 300 : 4)"),
        (tirx.Select(P, int32(1), int32(32768)) * OTHER, "(p ? 1 : 32768) * (q ? 300 : 4)"),
        (OTHER >> 15, "(q ? 300 : 4) >> 15"),
        (OTHER >> 16, "(int32_t)(q ? 300 : 4) >> 16"),
        (OTHER >> A, "(int32_t)(q ? 300 : 4) >> a"),
        (A >> OTHER, "a >> (q ? 300 : 4)"),
        ((OTHER & 7) * 2, "(int32_t)((q ? 300 : 4) & 7) * 2"),
        (tirx.Div(CHOICE, int32(7)) * 100, "(p ? 1 : -300) / 7 * 100"),
    ]
    assert [to_c(expr) for expr, _ in cases] == [text for _, text in cases]


def test_uint32():
    cases = [
        (FLAGS - FLAGS, "(uint32_t)(p ? 0U : 5U) - (p ? 0U : 5U)"),
        (FLAGS << W, "(uint32_t)(p ? 0U : 5U) << w"),
        (FLAGS >> W, "(uint32_t)(p ? 0U : 5U) >> w"),
        (~FLAGS, "(uint32_t)~(uint32_t)(p ? 0U : 5U)"),
        (FLAGS * W, "(p ? 0U : 5U) * w"),
        (tirx.Select(P, uint32(1), uint32(65536)) << W, "(p ? 1U : 65536U) << w"),
        (tirx.Select(P, uint32(1), uint32(65535)) << W, "(uint32_t)(p ? 1U : 65535U) << w"),
    ]
    assert [to_c(expr) for expr, _ in cases] == [text for _, text in cases]


def test_narrow_types_whose_result_an_int_may_lack():
    cases = [
        (H + H, "(int16_t)((int32_t)h + h)"),
        (H - H, "(int16_t)((int32_t)h - h)"),
        (H * H, "(int16_t)((int32_t)h * h)"),
        (tirx.Div(H, H), "(int16_t)((int32_t)h / h)"),
        (tirx.Mod(H, H), "(int16_t)((int32_t)h % h)"),
        (H >> H, "h >> h"),
        (U * U, "(uint8_t)((uint32_t)u * u)"),
        (U + U, "(uint8_t)(u + u)"),
        (V - V, "(uint16_t)(v - v)"),
        (V * V, "(uint16_t)((uint32_t)v * v)"),
        (S * S, "(int8_t)(s * s)"),
    ]
    assert [to_c(expr) for expr, _ in cases] == [text for _, text in cases]
