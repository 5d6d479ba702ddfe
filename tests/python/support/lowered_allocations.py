"""Modules that allocate what only the run knows, and what `LowerDynamicAllocations` makes of them.

`lines` shows `T.call_extern("handle", "usmp_arena_allocate", arena, ...)` as `allocate(...)`.
"""

import re

from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.planner_contexts import planner_context
from usmp.transform import LowerDynamicAllocations


def lower(mod, **options):
    with planner_context(options):
        after = LowerDynamicAllocations()(mod)
    assert tirx.analysis.verify_well_formed(after)
    return after


def lines(func):
    """Its statements as text, with short names of calls, and without types."""
    text = func.script(show_meta=False).partition("def ")[2].partition(":\n")[2]
    text = re.sub(r'T\.call_extern\((T.handle\(\).ty|"int32"), "usmp_arena_(\w+)", ', r"\2(", text)
    text = re.sub(r": T\.let\[T\.\w+\]", "", text).replace("(arena, ", "(")
    return [line[4:] for line in text.splitlines() if line and "func_attr" not in line]


def allocations(func):
    """What it allocates, uses and releases where nothing fails, in the order of the text."""
    found, skipped = [], None
    for line in lines(func):
        indent = len(line) - len(line.lstrip())
        if skipped is not None and indent > skipped:
            continue
        skipped = indent if line.lstrip().startswith(("if T.isnullptr", "if status")) else None
        if match := re.search(r"(\w+)_block = allocate\((\w+)_bytes", line):
            assert match[1] == match[2]
            found.append(f"+{match[1]}")
        elif match := re.search(r"release\((\w+)_block", line):
            found.append(f"-{match[1]}")
        elif match := re.search(r"(\w+) = T.decl_buffer\(.*data=(\w+)_block", line):
            found += [] if match[1] == match[2] else [f"{match[1]}={match[2]}"]
        elif match := re.search(r"(break|continue|return)", line):
            found.append(match[1])
    return found


@I.ir_module
class Copies:
    @T.prim_func(private=True)
    def copy(A: T.handle("int8"), B: T.handle("int8"), n: T.int32):
        a = T.decl_buffer((n,), "int8", data=A)
        b = T.decl_buffer((n,), "int8", data=B)
        for i in range(n):
            b[i] = a[i]

    @T.prim_func(private=True)
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n * 16,), "int32")
        b = T.alloc_buffer((n,), "int8", align=128)
        Copies.copy(x, a.data, n)
        Copies.copy(a.data, b.data, n)
        Copies.copy(b.data, y, n)


@I.ir_module
class Callers:
    @T.prim_func(private=True)
    def op(A: T.handle("int8"), n: T.int32):
        a = T.decl_buffer((n,), "int8", data=A)
        t = T.alloc_buffer((n,), "int8")
        for i in range(n):
            t[i] = a[i]
        for i in range(n):
            a[i] = t[n - 1 - i]

    @T.prim_func(private=True)
    def other(A: T.handle("int8"), n: T.int32):
        Callers.op(A, n)

    @T.prim_func(private=True)
    def plain(A: T.handle("int8"), n: T.int32):
        a = T.decl_buffer((n,), "int8", data=A)
        a[0] = T.int8(1)

    @T.prim_func(private=True)
    def __tvm_main__(x: T.handle("int8"), n: T.int32):
        Callers.other(x, n)
        a = T.alloc_buffer((n,), "int8")
        Callers.plain(a.data, n)
        T.evaluate(T.call_extern("int32", "other", a.data, n))


def main_of(body):
    """A module with a main function."""
    return IRModule({"__tvm_main__": body.with_attr("global_symbol", "__tvm_main__")})
