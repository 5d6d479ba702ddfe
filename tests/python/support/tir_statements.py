"""Random statements, one method a kind; `tir_bodies` has what they are made of."""

from __future__ import annotations

from tvm import tirx

from support.tir_bodies import DTYPES, ELEMENTS, MOST_STEPS, Body, Piece, Scope, block, cast
from support.tir_interpreter import CONCURRENT

IN_TURN = (tirx.ForKind.SERIAL, tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED)


class Statements(Body):
    """Draws blocks of statements."""

    def statements(self, scope: Scope, depth: int, most: int = 5) -> tirx.Stmt:
        """A block of statements; `scope` becomes what can be used after them."""
        stmts: list[tirx.Stmt] = []
        for _ in range(self.random.randint(2, most)):
            if self.budget <= 0:
                break
            self.budget -= 1
            self.steps += self.trips
            getattr(self, f"add_{self.kind(scope, depth)}")(stmts, scope, depth)
        for _ in range(self.random.randint(0 if stmts else 1, 2)):
            self.observe(stmts, scope)
        return block(stmts)

    def kind(self, scope: Scope, depth: int) -> str:
        """What comes next."""
        kinds = ["allocate"] * 6 + ["call"] * 4 + ["view"] * 2 + ["forget"] * 2
        kinds += ["store", "fill", "number", "constant"]
        if scope.fresh:
            kinds += ["first"] * 2
        if scope.jumps:
            kinds += ["jump"] * 2
        if self.returns and not scope.element:
            kinds.append("return")
        if depth < 3 and self.steps < MOST_STEPS:
            kinds += ["loop"] * 3 + ["branch"] * 3 + ["while", "while", "concurrent"]
        return self.random.choice(kinds)

    def repeated(self, times: int, scope: Scope, depth: int) -> tirx.Stmt:
        """The body of a loop; it begins with what earlier iterations may have destroyed."""
        self.trips *= times
        stmts: list[tirx.Stmt] = []
        self.observe(stmts, scope)
        body = self.statements(scope, depth + 1)
        self.trips //= times
        return block([*stmts, body])

    def forget(self, scope: Scope) -> None:
        """Let half of the buffers die: in this scope they are not read again."""
        kept = self.random.sample(scope.ready, (len(scope.ready) + 1) // 2)
        scope.ready = [piece for piece in scope.ready if piece in kept]

    def add_allocate(self, stmts: list, scope: Scope, depth: int) -> None:
        elements = self.random.choice([ELEMENTS, self.random.randint(ELEMENTS, 3 * ELEMENTS)])
        piece = self.allocate(stmts, scope, self.random.choice(DTYPES), elements)
        if self.chance(0.5):
            self.fill(stmts, scope, piece)

    def add_constant(self, stmts: list, scope: Scope, depth: int) -> None:
        dtype = self.random.choice(DTYPES)
        elements, annotations = self.memories.constant(dtype)
        buffer = tirx.decl_buffer((elements,), dtype, self.name("c"))
        stmts.append(tirx.AllocBuffer(buffer, annotations))
        scope.ready.append(Piece(buffer, object(), writable=False))

    def add_forget(self, stmts: list, scope: Scope, depth: int) -> None:
        self.observe(stmts, scope)
        self.forget(scope)

    def add_first(self, stmts: list, scope: Scope, depth: int) -> None:
        self.fill(stmts, scope, self.random.choice(scope.fresh))

    def add_fill(self, stmts: list, scope: Scope, depth: int) -> None:
        pieces = [piece for piece in scope.ready if piece.writable]
        if pieces:
            self.fill(stmts, scope, self.random.choice(pieces))

    def add_store(self, stmts: list, scope: Scope, depth: int) -> None:
        pieces = [piece for piece in scope.ready if piece.writable]
        if not pieces:
            return self.observe(stmts, scope)
        piece = self.random.choice(pieces)
        value = self.value(stmts, scope, piece.dtype)
        stmts.append(tirx.BufferStore(piece.buffer, value, [self.index(scope, piece)]))

    def add_number(self, stmts: list, scope: Scope, depth: int) -> None:
        number = tirx.Var(self.name("n"), "int32")
        stmts.append(tirx.Bind(number, self.value(stmts, scope, "int32")))
        scope.numbers.append(number)

    def add_view(self, stmts: list, scope: Scope, depth: int) -> None:
        if not scope.ready:
            return self.observe(stmts, scope)
        piece = self.random.choice(scope.ready)
        dtype = "int8" if self.chance(0.2) else piece.dtype
        view = tirx.decl_buffer((ELEMENTS,), dtype, self.name("v"))
        data = self.pointer(stmts, piece, dtype, "inout" if piece.writable else "in")
        stmts.append(tirx.DeclBuffer(view, data=data))
        scope.ready.append(Piece(view, piece.memory, piece.writable))

    def add_call(self, stmts: list, scope: Scope, depth: int) -> None:
        callees = self.affordable(returning=False)
        if not callees:
            return self.add_store(stmts, scope, depth)
        self.call(stmts, scope, self.pick(callees))

    def add_jump(self, stmts: list, scope: Scope, depth: int) -> None:
        """Leave the iteration, if something is so."""
        leave = self.random.choice(scope.jumps)()
        stmts.append(tirx.IfThenElse(self.condition(stmts, scope), leave, None))

    def add_return(self, stmts: list, scope: Scope, depth: int) -> None:
        """Leave the function, if something is so."""
        leave = tirx.Return(self.value(stmts, scope, self.returns))
        stmts.append(tirx.IfThenElse(self.condition(stmts, scope), leave, None))

    def add_branch(self, stmts: list, scope: Scope, depth: int) -> None:
        condition = self.condition(stmts, scope)
        yes = self.statements(scope.nested(), depth + 1)
        no = self.statements(scope.nested(), depth + 1) if self.chance(0.6) else None
        stmts.append(tirx.IfThenElse(condition, yes, no))
        self.forget(scope)

    def add_loop(self, stmts: list, scope: Scope, depth: int) -> None:
        """A loop whose iterations run in turn."""
        index = self.index_variable()
        extent: tirx.Expr | int = self.random.choice([1, 2, 2, 3])
        if self.chance(0.2):  # 1 or 2, by what is in memory
            extent = tirx.Cast("int32", self.condition(stmts, scope)) + 1
        jumps = (tirx.Break, tirx.Continue) if self.chance(0.4) else ()
        inner = scope.nested(numbers=[*scope.numbers, index], jumps=jumps)
        body = self.repeated(extent if isinstance(extent, int) else 2, inner, depth)
        stmts.append(tirx.For(index, 0, extent, self.random.choice(IN_TURN), body))
        self.forget(scope)

    def add_while(self, stmts: list, scope: Scope, depth: int) -> None:
        """A loop that counts in memory of its own, and may stop early."""
        count = tirx.decl_buffer((1,), "int8", self.name("n"))
        stmts.append(tirx.AllocBuffer(count, self.memories.workspace()))
        stmts.append(tirx.BufferStore(count, tirx.const(0, "int8"), [0]))
        times = self.random.choice([1, 2, 2, 3])
        condition = count[0] < tirx.const(times, "int8")
        jumps = (tirx.Break,) if self.chance(0.4) else ()
        body = self.repeated(times, scope.nested(jumps=jumps), depth)
        step = tirx.BufferStore(count, count[0] + tirx.const(1, "int8"), [0])
        stmts.append(tirx.While(condition, block([body, step])))
        self.forget(scope)

    def add_concurrent(self, stmts: list, scope: Scope, depth: int) -> None:
        """A loop whose iterations run at once, each with scratch of its own. Each may write one
        element of memory outside, which no other reads."""
        targets = [piece for piece in scope.ready if piece.writable]
        if not targets:
            return self.observe(stmts, scope)
        target, index = self.random.choice(targets), self.index_variable()
        outside = [p for p in scope.ready if p.memory is not target.memory]
        inner = Scope(
            ready=[Piece(p.buffer, p.memory, writable=False) for p in outside],
            numbers=[*scope.numbers, index],
            element=(target, index),
        )
        extent = self.random.randint(2, ELEMENTS)
        head: list[tirx.Stmt] = []
        self.trips *= extent
        scratch = self.allocate(head, inner, self.random.choice(DTYPES), ELEMENTS)
        self.fill(head, inner, scratch)
        own = scratch.buffer[0] + cast(scratch.dtype, index)
        head.append(tirx.BufferStore(scratch.buffer, own, [0]))
        self.trips //= extent
        middle = self.repeated(extent, inner, depth)
        tail = tirx.BufferStore(target.buffer, cast(target.dtype, scratch.buffer[0]), [index])
        kind = self.random.choice(CONCURRENT)
        stmts.append(tirx.For(index, 0, extent, kind, block([*head, middle, tail])))
