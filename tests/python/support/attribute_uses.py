"""Which attributes of the IR passes read and write as they run."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import contextmanager

from usmp.objects.attributes.attribute import Annotation, Attribute
from usmp.passes import ModulePass
from usmp.planning.search import search


class AttributeUses:
    """What was read and written, by the pass or stage that ran, the innermost one; "" is none."""

    def __init__(self) -> None:
        self.reads: defaultdict[str, set[Attribute]] = defaultdict(set)
        self.writes: defaultdict[str, set[Attribute]] = defaultdict(set)
        self._running = threading.local()

    @property
    def running(self) -> list[str]:
        """The passes that run in this thread, the innermost one last."""
        if not hasattr(self._running, "names"):
            self._running.names = [""]
        return self._running.names

    @contextmanager
    def run(self, name: str):
        """Run a pass."""
        self.running.append(name.removeprefix("usmp."))
        try:
            yield
        finally:
            self.running.pop()


def observe(monkeypatch) -> AttributeUses:
    """Record what is read and written from now on."""
    uses = AttributeUses()

    def recorded(owner: type, name: str, found: str) -> None:
        method = getattr(owner, name)

        def replacement(self, *arguments):
            getattr(uses, found)[uses.running[-1]].add(self)
            return method(self, *arguments)

        monkeypatch.setattr(owner, name, replacement)

    for owner, name in ((Attribute, "read"), (Attribute, "is_on"), (Annotation, "is_on")):
        recorded(owner, name, "reads")
    for name in ("entry", "put"):
        recorded(Attribute, name, "writes")

    def named(pass_class: type[ModulePass]) -> None:
        transform = pass_class.transform_module

        def transform_module(self, mod, context):
            with uses.run(pass_class.__name__):
                return transform(self, mod, context)

        monkeypatch.setattr(pass_class, "transform_module", transform_module)

    for pass_class in ModulePass.__subclasses__():
        named(pass_class)
    run_as_pass = search._run_as_pass

    def run_stage(name, mod, make):
        with uses.run(name):
            return run_as_pass(name, mod, make)

    monkeypatch.setattr(search, "_run_as_pass", run_stage)
    return uses
