"""The reference build of an archive: the same outputs by other code, read with care."""

from __future__ import annotations

import bz2
import json
from functools import partial

import numpy as np
import pytest

import usmp
from conftest import ROOT
from support.accelerator_models import CONV2D, registered
from support.entry_models import calls, entry_model
from support.planner_contexts import planner_context
from support.quantized_models.recurrent import Svdf, svdf
from support.small_digits import small_digits
from support.state_models import streaming_model
from usmp import reference_build
from usmp.codegen.model_library_format import tar_of
from usmp.frontend.tflite.importer import import_tflite
from usmp.plain.model_library_format import METADATA_FILE, largest_reference
from usmp.runtime import reference as reading
from usmp.runtime.archive import archive_of
from usmp.runtime.archived.read_tar import ArchiveError
from usmp.runtime.compare import first_difference
from usmp.runtime.reference import NoReference, reference_archive

DIGITS = ROOT / "examples/digits/digits_int8.tflite"
QUICK = {"tir.usmp.algorithm": "greedy_by_size", "disabled_pass": ["StreamOperators"]}
FILE = "reference/default.tar.bz2"
M55 = "c -mcpu=cortex-m55"


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    path = tmp_path_factory.mktemp("digits") / "digits.tflite"
    path.write_bytes(small_digits())
    return usmp.import_model(path)


@pytest.fixture(scope="module")
def files(digits):
    """An archive for a core, with the default of `tvmc compile`."""
    return usmp.build(digits, M55, reference=None).files()


def c_of(files):
    return "".join(text.decode() for path, text in files.items() if path.endswith(".c"))


def read(files):
    archive = archive_of(dict(files))
    return reference_archive(archive, archive.module())


def described(files):
    return json.loads(files[METADATA_FILE])["modules"]["default"].get("reference")


@pytest.mark.slow
def test_what_the_archive_holds(files, digits):
    """The same bytes each time, and the C that it has without a reference build."""
    plain = usmp.build(digits, M55).files()
    assert {*files} - {*plain} == {FILE}
    assert c_of(files) == c_of(plain)
    assert (described(files), described(plain)) == ({"file": FILE}, None)
    assert usmp.build(digits, M55, reference=True).files() == files


def test_what_the_reference_is(files):
    """No kernels, and bytes of its own for each buffer."""
    reference = read(files)
    assert {*reference.files} == {
        METADATA_FILE,
        "codegen/host/include/tvmgen_default.h",
        "codegen/host/src/default_lib0.c",
    }
    assert reference.module().algorithm == "no_sharing"
    assert reference.module().metadata["target"] == ["c"]
    assert "tvmgen_mve_conv2d(" in c_of(files)
    assert "tvmgen_mve" not in c_of(reference.files)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "is_there"),
    [({}, False), ({"target": M55}, True), ({"board": "riscv32-virt"}, True)],
    ids=["plain", "core", "board"],
)
def test_the_default_of_the_command_line(digits, arguments, is_there, monkeypatch):
    """`reference=None`: for machines that are not this host."""
    made = reference_build.ReferenceBuild({"unavailable": "not now"})
    monkeypatch.setattr(reference_build, "_reference_build", lambda *_: made)
    factory = usmp.build(digits, reference=None, **arguments)
    assert ("reference" in factory.metadata["modules"]["default"]) == is_there


@pytest.mark.slow
@pytest.mark.cc
def test_state_is_kept_until_reset():
    factory = usmp.build(streaming_model(), reference=True)
    reference, host = factory.load_reference(), factory.load()
    generator = np.random.default_rng(0)
    for number in range(4):
        if number == 3:
            reference.reset()
            host.reset()
        x = {"x": generator.standard_normal((1, 8)).astype(np.float32)}
        outputs, expected = host.run(x), reference.run(x)
        assert [first_difference(outputs[name], expected[name]) for name in outputs] == [None] * 2


@pytest.mark.slow
@pytest.mark.cc
def test_recurrent_operators_call_no_kernels():
    """They call functions of tensor intrinsics, without a kernel that was selected."""
    factory = usmp.build(import_tflite(svdf(Svdf())), reference=True)
    assert "tvmgen_dot_1x" in factory.source
    assert "tvmgen_dot" not in c_of(read(factory.files()).files)
    reference, host = factory.load_reference(), factory.load()
    ((name, described),) = host.inputs.items()
    generator = np.random.default_rng(0)
    for _ in range(3):
        x = {name: generator.integers(-128, 128, described["shape"], np.int8)}
        ((_, output),) = host.run(x).items()
        ((_, expected),) = reference.run(x).items()
        np.testing.assert_array_equal(output, expected)


@pytest.mark.slow
@pytest.mark.cc
def test_entries_share_their_state():
    factory = usmp.build(entry_model(), reference=True)
    reference, host = factory.load_reference(), factory.load()
    for entry, x in calls(4):
        outputs, expected = host.run({"x": x}, entry), reference.run({"x": x}, entry)
        assert all(first_difference(outputs[name], expected[name]) is None for name in outputs)


@pytest.mark.slow
@pytest.mark.cc
def test_new_rows_of_a_window():
    """The reference computes whole windows, which are full of zero points at the beginning."""
    with planner_context({**QUICK, "tir.usmp.stream_inputs": ["image:hop=2"]}):
        factory = usmp.build(usmp.import_model(DIGITS), reference=True)
    (entry,) = read(factory.files()).module().entries.values()
    assert list(entry.inputs["image"].info.shape) == [1, 8, 8, 1]
    reference, host = factory.load_reference(), factory.load()
    generator = np.random.default_rng(0)
    outputs = []
    for number in range(6):
        if number == 4:
            reference.reset()
            host.reset()
        rows = {"image": generator.integers(-128, 128, (1, 2, 8, 1), np.int8)}
        outputs.append(host.run(rows)["probabilities"])
        np.testing.assert_array_equal(reference.run(rows)["probabilities"], outputs[-1])
    assert len({array.tobytes() for array in outputs}) == 6
    with pytest.raises(ValueError, match="image"):
        reference.run({"image": np.zeros((1, 8, 8, 1), np.int8)})


@pytest.mark.slow
def test_accelerators_are_called_in_the_same_way():
    """Else there is no reference: the user's functions are for the shapes of the archive."""
    with registered(CONV2D), planner_context(QUICK):
        factory = usmp.build(usmp.import_model(DIGITS), "accel,c", reference=True)
    files = factory.files()
    functions = [
        archive.module().metadata["accelerator_functions"]
        for archive in (archive_of(files), read(files))
    ]
    assert len(functions[0]) == 4
    assert functions[0] == functions[1]
    other = reference_build.ReferenceBuild({"file": FILE}, files[FILE], functions[0][:3])
    without = reference_build.with_reference(factory, other).files()
    assert described(without) == {"unavailable": "it would call accelerators in another way"}
    assert FILE not in without


@pytest.mark.slow
def test_the_reason_why_there_is_none(digits, monkeypatch):
    def fails(*_):
        raise ValueError("no place")

    monkeypatch.setattr(reference_build, "_plain_context", fails)
    files = usmp.build(digits, reference=True).files()
    assert described(files) == {"unavailable": "it cannot be built: no place"}
    reason = r"^the archive has no reference build \(it cannot be built: no place\)$"
    with pytest.raises(NoReference, match=reason):
        read(files)


@pytest.mark.slow
def test_an_archive_of_an_earlier_version(digits):
    with pytest.raises(NoReference, match="compile the model again, with --reference"):
        read(usmp.build(digits).files())


@pytest.mark.slow
def test_several_models_in_one_archive(digits, tmp_path):
    factories = [usmp.build(digits, M55, module_name=n, reference=True) for n in ("one", "two")]
    usmp.export_model_library_format(factories, tmp_path / "two.tar")
    archive = usmp.load_archive(tmp_path / "two.tar")
    for name in ("one", "two"):
        assert reference_archive(archive, archive.module(name)).module().name == name


def with_reference(files, content):
    return {**files, FILE: bz2.compress(content)}


def with_metadata(files, change):
    metadata = json.loads(files[METADATA_FILE])
    change(metadata["modules"]["default"])
    return {**files, METADATA_FILE: json.dumps(metadata).encode()}


def cut(files):
    return {**files, FILE: files[FILE][:-9]}


def of_another_model(files):
    other = usmp.build(streaming_model(), reference=True).files()
    return {**files, FILE: other[FILE]}


def outside(files):
    return with_reference(files, tar_of({"../evil": b""}))


def without_code(files):
    return with_reference(files, tar_of({METADATA_FILE: read(files).files[METADATA_FILE]}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda files: {**files, FILE: b"BZh"}, f"{FILE}: it is truncated, or something follows"),
        (
            lambda files: {**files, FILE: b"no bzip2"},
            f"{FILE}: not compressed by bzip2, or damaged",
        ),
        (cut, f"{FILE}: it is truncated"),
        (lambda files: {**files, FILE: files[FILE] * 2}, f"{FILE}: it is truncated, or something"),
        (lambda files: {p: c for p, c in files.items() if p != FILE}, f'"default" lacks {FILE}'),
        (outside, f'{FILE}: the archive holds "./../evil", which lies outside of its folder'),
        (without_code, f"{FILE}: not an archive of C code"),
        (of_another_model, f"{FILE}: it has other entries, inputs, outputs or sizes than module"),
        (
            partial(with_metadata, change=lambda module: module.update(reference=[])),
            'module "default" has no valid "reference"',
        ),
        (
            partial(with_metadata, change=lambda module: module.update(reference={"file": 3})),
            'module "default" has no valid "reference"',
        ),
    ],
    ids=["start", "other", "cut", "twice", "missing", "outside", "code", "model", "list", "number"],
)
def test_damaged_archives(files, damage, message):
    with pytest.raises(ArchiveError) as error:
        read(damage(files))
    assert message in str(error.value)


def test_what_grows_too_much_is_not_decompressed(files, monkeypatch):
    assert largest_reference(10) == 2**26 + 320
    assert largest_reference(2**30) == 2**32
    monkeypatch.setattr(reading, "largest_reference", lambda size: size + 1000)
    grown = with_reference(files, bytes(10**6))
    most = len(grown[FILE]) + 1000
    with pytest.raises(ArchiveError, match=f"it has more than {most} bytes, the most that"):
        read(grown)


@pytest.mark.slow
def test_what_would_not_be_read_is_not_written(digits, monkeypatch):
    monkeypatch.setattr(reference_build, "largest_reference", lambda size: size)
    files = usmp.build(digits, reference=True).files()
    assert described(files)["unavailable"].startswith("it would have ")
    assert FILE not in files
