"""What build systems know of an archive: a name that registries take, and its files."""

from __future__ import annotations

import pytest

from usmp.codegen.build_systems.library import Library, Model, library_of

SOURCES, OBJECTS = "codegen/host/src", "codegen/host/lib"


def described(prefix, *takes_arena):
    mains = [{"takes_arena": takes} if takes is not None else {} for takes in takes_arena]
    return {"c_prefix": prefix, "memory": {"functions": {"main": mains or [{}]}}}


def library(*names):
    return Library(tuple(Model(f"tvmgen_{name}", (), (), False) for name in names))


def test_the_name_is_that_of_the_models():
    assert library("net").name == "tvmgen_net"
    assert library("a", "b").name == "tvmgen_a_b"
    assert library("net").sentence == "A compiled model"
    assert library("a", "b").sentence == "Compiled models"


@pytest.mark.parametrize("prefix", ["", "x"])
def test_a_name_is_as_long_as_registries_take(prefix):
    longest = prefix + "n" * (50 - len("tvmgen_") - len(prefix))
    assert library(longest).name == f"tvmgen_{longest}"
    name = library(longest + "n").name
    assert len(name) == 50
    # A part of the name, and 16 digits of a digest, which differ between names.
    shown, _, digest = name.rpartition("_")
    assert f"tvmgen_{longest}".startswith(shown) and len(digest) == 16
    assert int(digest, 16) > 0
    assert library(longest + "m").name not in (name, library(longest).name)


def test_files_of_a_model_are_those_with_its_name_by_number():
    files = [f"{SOURCES}/net_lib{n}.c" for n in (10, 0, 2)] + [
        f"{OBJECTS}/net_lib{n}.o" for n in (9, 1)
    ]
    others = ["net2_lib0.c", "xnet_lib0.c", "net_lib.c", "net_lib0.cpp", "usmp_arena.c"]
    listed = dict.fromkeys([*files, *(f"{SOURCES}/{name}" for name in others)], b"")
    (model,) = library_of({"net": described("tvmgen_net")}, listed).models
    assert model.sources == tuple(f"{SOURCES}/net_lib{n}.c" for n in (0, 2, 10))
    assert model.objects == tuple(f"{OBJECTS}/net_lib{n}.o" for n in (1, 9))
    assert model.linked == model.sources + model.objects
    assert model.header == "tvmgen_net.h"


@pytest.mark.parametrize(
    ("modules", "takes_arena"),
    [
        ([(None,)], False),
        ([(False, False)], False),
        ([(False, True)], True),
        ([(None,), (True,)], True),
    ],
)
def test_the_allocator_is_there_if_a_run_of_any_model_takes_it(modules, takes_arena):
    named = {f"m{n}": described(f"tvmgen_m{n}", *takes) for n, takes in enumerate(modules)}
    files = {f"{SOURCES}/m{n}_lib0.c": b"" for n in range(len(modules))}
    found = library_of(named, files)
    assert found.takes_arena is takes_arena
    assert [m.takes_arena for m in found.models] == [any(t) for t in modules]
    own = [f"{SOURCES}/m{n}_lib0.c" for n in range(len(modules))]
    assert list(found.sources) == [*own, *found.arena_sources]
    assert len(found.arena_sources) == takes_arena


def test_objects_are_those_of_all_models():
    models = (Model("a", (), ("1.o", "2.o"), False), Model("b", (), ("3.o",), False))
    assert Library(models).objects == ("1.o", "2.o", "3.o")
