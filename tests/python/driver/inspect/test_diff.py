"""`tvmc diff`: two builds compared, and what makes it fail."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from tvm import relax, tirx
from tvm.ir.transform import PassContext

import usmp
from support.archives import attention_archive, write_tar
from support.json_mutations import mutated_fields
from usmp.driver.errors import UsageError
from usmp.driver.inspect.growth import growth_limit
from usmp.driver.inspect.plan_files import read_plans
from usmp.driver.status import FAILED, NOT_WITHIN
from usmp.report.diff.build_facts import build_facts
from usmp.report.diff.document import diff_json
from usmp.report.diff.plan_diff import Change, diff_builds
from usmp.report.diff.tables import diff_tables, markdown_diff

pytestmark = pytest.mark.usefixtures("one_session")


@pytest.fixture(scope="module")
def built(tmp_path_factory, convolutions):
    """Two builds of a model: the second runs no operators interleaved."""
    folder = tmp_path_factory.mktemp("built")
    for name, disabled in {"small": [], "large": ["StreamOperators"]}.items():
        with PassContext(disabled_pass=disabled):
            factory = usmp.build(usmp.import_model(convolutions))
        factory.export_model_library_format(folder / f"{name}.tar")
        memory = factory.metadata["modules"]["default"]["memory"]
        (folder / f"{name}.json").write_text(json.dumps(memory))
        (folder / f"{name}_metadata.json").write_text(json.dumps(factory.metadata))
    return folder


def ram(path: Path) -> int:
    return json.loads(path.read_text())["ram"]["size_bytes"]


@pytest.mark.cc
def test_builds_that_are_the_same(tvmc, built):
    outcome = tvmc("diff", built / "small.tar", built / "small.tar", "--fail-on-growth=0")
    assert (outcome.status, outcome.stderr) == (0, "")
    first, compiler, second = outcome.stdout.splitlines()
    size = ram(built / "small.json")
    assert first.startswith(f"No difference: RAM {size} bytes, constants 1784 bytes, code ")
    assert compiler == "Code as cc -O2 makes it."
    assert second == f"default: RAM {size} -> {size} bytes, within --fail-on-growth=0"


@pytest.mark.cc
def test_operators_of_symbolic_sizes_have_no_count(tvmc, tmp_path):
    builder = relax.BlockBuilder()
    n = tirx.Var("n", "int64")
    x, w = (relax.Var(s, relax.TensorType((e, 4), "float32")) for s, e in (("x", n), ("w", 4)))
    with builder.function("main", [x, w], attrs={"tir_var_upper_bound": {"n": 16}}):
        with builder.dataflow():
            product = builder.emit_output(builder.emit(relax.op.matmul(x, w)))
        builder.emit_func_output(product)
    usmp.build(builder.get()).export_model_library_format(tmp_path / "model.tar")
    outcome = tvmc("diff", tmp_path / "model.tar", tmp_path / "model.tar")
    assert (outcome.status, outcome.stderr) == (0, "")


@pytest.mark.cc
def test_the_document_has_what_changed(tvmc, built):
    outcome = tvmc("diff", built / "small.tar", built / "large.tar", "--format=json")
    assert (outcome.status, outcome.stderr) == (0, "")
    document = json.loads(outcome.stdout)
    assert (document["schema"], document["version"]) == ("usmp.diff", 1)
    assert not document["identical"]
    (module,) = document["modules"]
    sums = module["sums"]
    assert sums["ram_size_bytes"] == {
        "before": ram(built / "small.json"),
        "after": ram(built / "large.json"),
    }
    assert sums["flash_size_bytes"]["after"] == (
        sums["constants_size_bytes"]["after"] + sums["code_size_bytes"]["after"]
    )
    statuses = {(b["name"], b["kind"]): b["status"] for b in module["buffers"]}
    assert statuses["conv2d_ring", "intermediate"] == "vanished"
    assert statuses["conv2d", "intermediate"] == "appeared"
    operators = {o["functions"]: o for o in module["operators"]}
    assert operators["conv2d"]["status"] == "appeared"
    assert operators["conv2d"]["values"]["code_size_bytes"]["after"] > 100
    assert module["compiler"] == {"before": "cc -O2", "after": "cc -O2"}
    assert module["notes"] == ["Code as cc -O2 makes it."]


def test_growth_beyond_the_limit_is_status_2_and_named(tvmc, built):
    before, after = ram(built / "small.json"), ram(built / "large.json")
    growth = after - before
    files = (built / "small.json", built / "large.json")
    for limit, status in {
        str(growth): 0,
        str(growth - 1): NOT_WITHIN,
        "1G": 0,
        "0": NOT_WITHIN,
    }.items():
        outcome = tvmc("diff", *files, "--fail-on-growth", limit)
        grew = f"RAM grew by {growth} bytes, from {before} to {after}"
        sentence = f"{grew}, more than --fail-on-growth={limit}"
        assert outcome.status == status
        assert outcome.stderr == (f"tvmc: {sentence}\n" if status else ""), limit
    assert outcome.stdout.splitlines()[-1] == sentence
    assert tvmc("diff", *reversed(files), "--fail-on-growth=0").status == 0
    percent = 100 * growth / before
    assert tvmc("diff", *files, f"--fail-on-growth={percent + 0.01:.2f}%").status == 0
    assert tvmc("diff", *files, f"--fail-on-growth={percent - 0.01:.2f}%").status == NOT_WITHIN
    assert NOT_WITHIN not in (0, FAILED)


def test_a_file_is_whole_even_if_memory_grew(tvmc, built):
    files = (built / "small.json", built / "large.json")
    outcome = tvmc("diff", *files, "--fail-on-growth=0", "--fail-on-flash-growth=0", "-o", "d.json")
    assert (outcome.status, outcome.stdout) == (NOT_WITHIN, "")
    assert outcome.stderr.startswith("tvmc: RAM grew by ")
    limits = json.loads(Path("d.json").read_text())["limits"]
    assert [(limit["option"], limit["exceeded"]) for limit in limits] == [
        ("--fail-on-growth", True),
        ("--fail-on-flash-growth", False),
    ]
    assert limits[1]["what"] == "flash for constants (code not counted)"


def test_the_ending_of_the_file_is_the_format(tvmc, built):
    files = (built / "small.json", built / "large.json")
    for name, shown_as in (("d.md", "markdown"), ("d.json", "json")):
        assert tvmc("diff", *files, "-o", name).status == 0
        assert Path(name).read_text() == tvmc("diff", *files, "--format", shown_as).stdout
    assert Path("d.md").read_text().count("<details>") == Path("d.md").read_text().count(
        "</details>"
    )


@pytest.mark.cc
def test_a_plan_an_archive_and_its_metadata_say_the_same(tvmc, built):
    for other in ("small.json", "small_metadata.json"):
        outcome = tvmc("diff", built / other, built / "small.tar")
        assert outcome.status == 0
        assert outcome.stdout.startswith("No difference: ")
        assert "Of the build before, the file has no code" in outcome.stdout


@pytest.mark.cc
def test_code_that_cannot_be_compiled_is_said(tvmc, built, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    outcome = tvmc("diff", built / "small.tar", built / "large.tar")
    assert outcome.status == 0
    assert "the code was not compiled (no-such-compiler is not installed)" in (
        " ".join(outcome.stdout.split())
    )
    assert "text of the C, not compiled" in outcome.stdout


@pytest.mark.slow
def test_modules_are_matched_by_name(tvmc, refused, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    for name, modules in {"a": ("first", "second"), "b": ("second", "third")}.items():
        attention_archive(tmp_path, *modules)
        (tmp_path / "models.tar").rename(tmp_path / f"{name}.tar")
    files = [tmp_path / "a.tar", tmp_path / "b.tar"]
    document = json.loads(tvmc("diff", *files, "--format=json").stdout)
    assert [module["name"] for module in document["modules"]] == ["second"]
    assert (document["only_before"], document["only_after"]) == (["first"], ["third"])
    assert not document["identical"]
    named = tvmc("diff", *files, "--module-name", "second", "--format=json")
    assert json.loads(named.stdout)["identical"]
    assert refused("diff", *files, "--module-name", "first") == (
        'the build after has no module "first". Its modules: second, third'
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is not JSON"),
        ("[]", "neither the JSON of tvmc plan nor metadata.json of an archive"),
        ("{}", "neither the JSON of tvmc plan nor metadata.json of an archive"),
        ('{"pools": [], "functions": "main"}', 'the plan has no valid "functions"'),
        ('{"pools": [], "functions": {}}', 'the plan has no valid "main"'),
        ('{"pools": 1, "functions": {"main": []}}', 'the plan has no valid "pools"'),
        ('{"pools": [{}], "functions": {"main": []}}', 'a pool of the plan has no valid "name"'),
        ('{"modules": {}}', 'it has no "modules"'),
        ('{"modules": {"x": {"memory": {}}}}', "TVM itself wrote this archive"),
    ],
)
def test_files_that_are_no_plans(refused, built, content, message):
    Path("x.json").write_text(content)
    assert refused("diff", built / "small.json", "x.json").startswith(f"x.json: {message}")


def test_shared_code_that_there_is_not(refused, built):
    metadata = json.loads((built / "small_metadata.json").read_text())
    (module,) = metadata["modules"].values()
    module["shared_code"] = ["fast"]
    Path("x.json").write_text(json.dumps(metadata))
    message = refused("diff", built / "small.json", "x.json")
    assert message == 'x.json: module "default" has no valid "shared_code"'


@pytest.mark.parametrize(
    ("peaks", "fault"),
    [({}, "an entry of the plan"), ({"peak_bytes": {"a": -1}}, '"peak_bytes" of an entry of')],
)
def test_entries_of_plans_have_peaks(tmp_path, peaks, fault):
    sizes = {"workspace_size_bytes": 8, "io_size_bytes": 2, "state_size_bytes": 0}
    mains = [{"entry": name, **sizes, **peaks} for name in ("one", "two")]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"pools": [], "functions": {"main": mains}}))
    with pytest.raises(UsageError, match=fault):
        read_plans(path)


def test_files_that_are_missing_or_no_archives(refused, built):
    assert refused("diff", "no.tar", built / "small.tar") == "no.tar: No such file or directory"
    write_tar(Path("x.tar"), {"./x": b""})
    assert refused("diff", built / "small.json", "x.tar") == (
        "x.tar: not a Model Library Format archive: no metadata.json"
    )


def test_nothing_that_is_compared_is_overwritten(refused, built):
    message = refused(
        "diff", built / "small.json", built / "large.json", "-o", built / "large.json"
    )
    assert message == (
        f"{built / 'large.json'}: the difference would overwrite a file that it compares"
    )


@pytest.mark.parametrize(
    "text", ["", "-1", "1%%", "x", "1e3", "nan%", "9999999999999999999", "-1%"]
)
def test_limits_that_are_none(refused, built, text):
    message = refused(
        "diff", built / "small.json", built / "small.json", f"--fail-on-growth={text}"
    )
    assert message.startswith(
        "argument --fail-on-growth: must be bytes or a percentage, such as 0, 1K or 2%, not "
    )


def test_percentages_are_exact():
    assert growth_limit("0.1%").allows(Change(1000, 1001))
    assert not growth_limit("0.1%").allows(Change(1000, 1002))
    assert not growth_limit("50%").allows(Change(0, 1))
    assert growth_limit("0").allows(Change(10, 9))


@pytest.mark.slow
@pytest.mark.property
def test_damaged_files_are_refused_or_compared(built, tmp_path):
    """Whatever a JSON file says, it is refused by a message of our own, or shown."""
    random = Random(5)
    documents = [json.loads((built / f"small{end}.json").read_text()) for end in ("", "_metadata")]
    path = tmp_path / "damaged.json"
    outcomes = set()
    for _ in range(150):
        path.write_text(json.dumps(mutated_fields(random.choice(documents), random)))
        try:
            plans = read_plans(str(path))
        except UsageError as error:
            outcomes.add("refused")
            assert str(error).startswith(f"{path}: ")
            continue
        outcomes.add("compared")
        for name, module in plans.items():
            facts = build_facts(name, module.memory, module.operators)
            before = build_facts("", documents[0])
            diff = diff_builds(before, facts)
            assert diff_tables(diff) and markdown_diff(diff)
            json.loads(diff_json(("a", "b"), [diff], ([], []), []))
    assert outcomes == {"refused", "compared"}
