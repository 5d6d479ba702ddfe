"""Manifests have what the specifications of their build systems demand, whatever a model is called.

The schemas say what these specifications say: the Arduino library specification (rev. 2.2), the
reference of PlatformIO's library.json, the schema in Zephyr's zephyr_module.py, and the reference
of idf_component.yml.
"""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
import yaml

from support.library_files import CMAKE_FILES, library_files
from usmp.codegen.build_systems.build_system_files import build_system_files
from usmp.codegen.c.names import symbol_prefix

HOSTILE = 'a"$(rm -rf ~)\n#;${X}\\ é'
NAMES = ["digits", "7", HOSTILE, "n" * 500, "a__b-"]


def text(longest: int, pattern: str = r"^[^\n]+$") -> dict:
    return {"type": "string", "minLength": 1, "maxLength": longest, "pattern": pattern}


def record(required: dict, **optional: dict) -> dict:
    """An object that has these keys, perhaps the optional ones, and no other."""
    properties = {**required, **optional}
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


VERSION = text(20, r"^\d+\.\d+\.\d+$")
HEADERS = r"^(tvmgen_\w+\.h)(,tvmgen_\w+\.h)*$"
CATEGORIES = ["Display", "Communication", "Signal Input/Output", "Sensors", "Device Control"]
ARDUINO = record(
    {
        "name": text(63, r"^(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9 _.-]*$"),
        "version": VERSION,
        "author": text(255),
        "maintainer": text(255),
        "sentence": text(255),
        "paragraph": text(255),
        "category": {"enum": [*CATEGORIES, "Timing", "Data Storage", "Data Processing", "Other"]},
        "url": text(255, r"^https?://\S+$"),
        "architectures": {"const": "*"},
    },
    includes=text(4096, HEADERS),
    dot_a_linkage={"enum": ["true", "false"]},
)
PLATFORMIO = record(
    {
        "name": text(50, r"^[^:;/,@<>\n]+$"),
        "version": VERSION,
        "description": text(255),
        "keywords": {"type": "array", "items": text(50, r"^[a-z\d+. -]+$")},
    },
    headers={"type": "array", "items": text(255, HEADERS)},
    frameworks={"const": "*"},
    platforms={"const": "*"},
    build=record({}, srcDir=text(255), includeDir=text(255)),
)
ZEPHYR = record(
    {},
    name=text(255),
    build=record({}, cmake=text(255), kconfig=text(255)),
    depends={"type": "array"},
)
ESP_IDF = record(
    {"version": VERSION},
    description=text(255),
    dependencies=record({"idf": text(20, r"^>=\d+\.\d+$")}),
)


def archive(*names: str, lib: bool = False, **more: object) -> dict[str, bytes]:
    """The files of models with these names that build systems need."""
    modules, files = {}, {}
    for name in names:
        prefix = symbol_prefix(name)
        stem = prefix.removeprefix("tvmgen_")
        memory = {"functions": {"main": [{"takes_arena": more.get("takes_arena", False)}]}}
        modules[name] = {"c_prefix": prefix, "memory": memory, "interface_api": "c", **more}
        files[f"codegen/host/include/{prefix}.h"] = b""
        files |= {f"codegen/host/src/{stem}_lib{number}.c": b"" for number in (0, 1)}
        files |= {f"codegen/host/lib/{stem}_lib2.o": b""} if lib else {}
    return {"metadata.json": json.dumps({"modules": modules}).encode(), **files}


def texts(*names: str, **more: object) -> dict[str, str]:
    found = build_system_files(archive(*names, **more))
    return {path: content.decode() for path, content in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_manifests_are_valid(name):
    files = texts(name)
    pairs = [line.split("=", 1) for line in files["library.properties"].splitlines()]
    assert len(dict(pairs)) == len(pairs)
    jsonschema.validate(dict(pairs), ARDUINO)
    jsonschema.validate(json.loads(files["library.json"]), PLATFORMIO)
    jsonschema.validate(yaml.safe_load(files["zephyr/module.yml"]), ZEPHYR)
    jsonschema.validate(yaml.safe_load(files["idf_component.yml"]), ESP_IDF)


@pytest.mark.parametrize(
    ("names", "sentence"), [("a", "A compiled model"), ("ab", "Compiled models")]
)
def test_manifests_say_what_it_is(names, sentence):
    files = texts(*names)
    for path in ("library.properties", "library.json", "idf_component.yml"):
        assert f"{sentence}, as C with its memory planned" in files[path]
    for path in ("CMakeLists.txt", "zephyr/CMakeLists.txt"):
        assert f"# {sentence}: " in files[path]


@pytest.mark.parametrize("name", NAMES)
def test_only_the_prefix_of_a_model_is_in_them(name):
    """They are those of a model called as the prefix is, so that no other byte of its name is."""
    prefix = symbol_prefix(name)
    assert texts(name) == texts(prefix.removeprefix("tvmgen_"))
    assert all(content.isascii() for content in texts(name).values())
    assert re.fullmatch(r"[A-Za-z_]\w*", prefix)


def test_folders_and_files_that_manifests_name_are_there():
    files = archive("a", "b") | build_system_files(archive("a", "b"))
    paths = json.loads(files["library.json"])["build"]
    assert paths == {"srcDir": "codegen/host/src", "includeDir": "codegen/host/include"}
    assert json.loads(files["library.json"])["headers"] == ["tvmgen_a.h", "tvmgen_b.h"]
    module = yaml.safe_load(files["zephyr/module.yml"])["build"]
    assert f"{module['cmake']}/CMakeLists.txt" in files
    assert module["kconfig"] in files
    for path in [path for path in files if path.startswith("src/")]:
        (included,) = re.findall(r'#include "\.\./(.*)"', files[path].decode())
        assert included in files
        assert included.rpartition("/")[2] == path.removeprefix("src/")


def test_options_of_zephyr():
    kconfig = texts("a", "b")["zephyr/Kconfig"]
    assert re.findall(r'^config (\w+)\n\tbool "(.*)"\n\tdefault y$', kconfig, re.MULTILINE) == [
        ("TVMGEN_A", "Compiled model tvmgen_a"),
        ("TVMGEN_B", "Compiled model tvmgen_b"),
    ]
    used = re.findall(r"if\(CONFIG_(\w+)\)", texts("a", "b")["zephyr/CMakeLists.txt"])
    assert used == ["TVMGEN_A", "TVMGEN_B"]


def test_sources_of_a_model_are_its_own_and_in_order():
    """`a` is not all that begins with it."""
    cmake = texts("a", "a_lib1", "a_b")["CMakeLists.txt"]
    libraries = re.findall(r"add_library\((\w+) STATIC\n(.*?)\)", cmake, re.DOTALL)
    assert [(name, re.findall(r"src/(\w+\.c)", paths)) for name, paths in libraries] == [
        (f"tvmgen_{name}", [f"{name}_lib0.c", f"{name}_lib1.c"]) for name in ("a", "a_lib1", "a_b")
    ]


def test_names_of_libraries_differ():
    """Names that are cut end with a digest of the whole."""
    long = ["n" * 90 + end for end in "ab"]
    names = [json.loads(texts(*each)["library.json"])["name"] for each in ([long[0]], [long[1]])]
    assert len({*names}) == 2
    assert all(len(name) == 50 for name in names)
    assert json.loads(texts("left", "right")["library.json"])["name"] == "tvmgen_left_right"


def test_which_archives_have_which_files():
    two_sources = ["src/a_lib1.c"]
    assert sorted(texts("a")) == sorted([*library_files("a"), *two_sources])
    assert sorted(texts("a", lib=True)) == CMAKE_FILES
    assert texts("a", board="mps2-an385") == {}
    assert texts("a", interface_api="packed") == {}
    arena = {"src/usmp_arena.c", "src/usmp_arena.h"}
    assert set(texts("a", takes_arena=True)) - set(texts("a")) == arena


def test_object_files_are_linked():
    files = texts("a", lib=True)
    for path in ("CMakeLists.txt", "zephyr/CMakeLists.txt"):
        assert re.search(r"codegen/host/lib/a_lib2\.o\"", files[path])
