"""contracts/ equals what the code generates; each kind of drift is named."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from chancery.testkit.contracts import __main__ as contracts
from chancery.testkit.contracts import examples, files, landed

CONTRACTS = Path(__file__).parents[2] / "contracts"
SCHEMA = "events/run.expired.v1.schema.json"
EXAMPLE = "examples/run.expired.v1/minimal.json"


@cache
def generated() -> files.Files:
    """Return what the code generates, generated once for all tests here."""
    return contracts.generate()


@cache
def made_examples() -> files.Files:
    """Return the examples that the code makes, made once for all tests here."""
    return examples.examples()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of contracts/ outside any repository, in step with the code."""
    folder = Path(shutil.copytree(CONTRACTS, tmp_path / "contracts"))
    files.write(folder, generated())
    examples.add(folder, made_examples())
    return folder


def git(root: Path, *arguments: str) -> str:
    """Run git in `root` as somebody, whoever runs the test, and return what it says."""
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(root), *who, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, timeout=30)
    return done.stdout.decode()


@pytest.fixture
def repository(copy: Path) -> Path:
    """Return a copy of contracts/ that is committed, with nothing but contracts/ beside it."""
    root = copy.parent
    git(root, "init", "--quiet")
    git(root, "add", "contracts")
    git(root, "commit", "--quiet", "-m", "first")
    return copy


@pytest.mark.req("EV-2")
def test_the_committed_contracts_equal_the_code() -> None:
    assert list(files.differences(files.read(CONTRACTS), generated())) == []
    assert list(examples.problems(examples.read(CONTRACTS), made_examples())) == []


def test_generating_twice_gives_the_same_bytes() -> None:
    assert contracts.generate() == generated()
    assert examples.examples() == made_examples()


@pytest.mark.req("EV-2")
def test_each_kind_of_drift_is_named(copy: Path) -> None:
    assert list(contracts.check(copy, generated(), made_examples())) == []

    (copy / SCHEMA).write_text("{}\n")
    (copy / "topology.json").unlink()
    (copy / "events" / "left-behind.v1.schema.json").write_text("{}\n")
    (copy / EXAMPLE).unlink()
    found = list(contracts.check(copy, generated(), made_examples()))

    assert [problem.split(" ")[0] for problem in found] == [
        "events/left-behind.v1.schema.json",
        SCHEMA,
        "topology.json",
        EXAMPLE,
    ]


def test_writing_mends_drift_and_leaves_what_is_written_by_hand(copy: Path) -> None:
    (copy / SCHEMA).write_text("{}\n")
    (copy / "events" / "left-behind.v1.schema.json").write_text("{}\n")
    (copy / "README.md").write_text("by hand\n")

    files.write(copy, generated())

    assert list(contracts.check(copy, generated(), made_examples())) == []
    assert (copy / "README.md").read_text() == "by hand\n"


def test_the_command_tells_by_its_exit_code(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(copy.parent)
    assert contracts.main(["--check"]) == 0
    # It takes seconds, and gives the same each time: as a test above shows.
    monkeypatch.setattr(contracts, "generate", generated)
    monkeypatch.setattr(examples, "examples", made_examples)

    (copy / SCHEMA).write_text("{}\n")

    assert contracts.main(["--check"]) == 1
    assert SCHEMA in capsys.readouterr().err
    assert contracts.main([]) == 0
    assert contracts.main(["--check"]) == 0


@pytest.mark.req("EV-2")
def test_a_change_against_the_last_landed_version_is_named(repository: Path) -> None:
    root = repository.parent
    schemas = files.read(repository)
    narrowed = schemas[SCHEMA].replace(b'"minimum": 1', b'"minimum": 2')
    (repository / SCHEMA).write_bytes(narrowed)
    base = landed.last_landed(root)
    assert base is not None

    found = list(landed.problems(base, {**schemas, SCHEMA: narrowed}, base.examples))
    without = {name: content for name, content in schemas.items() if name != SCHEMA}
    gone = list(landed.problems(base, without, base.examples))
    edited = list(landed.problems(base, schemas, {**base.examples, EXAMPLE: b"{}"}))

    assert found == [
        "chancery.run.expired.v1: data.generation: minimum narrowed; this needs a new version"
    ]
    assert [problem.split(":")[0] for problem in gone] == [SCHEMA]
    assert [problem.split(":")[0] for problem in edited] == [EXAMPLE]
    assert list(landed.problems(base, schemas, base.examples)) == []


@pytest.mark.req("EV-2")
def test_only_of_submissions_an_attribute_may_become_what_it_always_was() -> None:
    """Every release took submissions without these attributes, whatever their schemas said."""
    demanded = ["data", "id", "source", "specversion", "subject", "tenant", "time", "type"]
    told = dict[str, list[str]]()
    for name in ("intake.source-submitted.v1", "intake.accepted.v1"):
        path = f"events/{name}.schema.json"
        document = json.loads(generated()[path])
        before = json.dumps({**document, "required": demanded}).encode()
        kept = [each for each in demanded if each not in {"source", "time"}]
        after = json.dumps({**document, "required": kept}).encode()
        found = landed.problems(landed.Landed("c", {path: before}, {}), {path: after}, {})
        told[name] = [problem.split(": ")[1] for problem in found]

    assert told["intake.source-submitted.v1"] == ["source"]
    assert told["intake.accepted.v1"] == ["source", "time"]


@pytest.mark.req("EV-2")
def test_the_base_is_the_remote_branch_when_there_is_one(repository: Path) -> None:
    root = repository.parent
    assert landed.last_landed(root) is None  # the first version has nothing before it

    git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    (repository / SCHEMA).write_text("{}\n")
    git(root, "commit", "--quiet", "-am", "second")
    base = landed.last_landed(root)

    assert base is not None
    assert base.schemas[SCHEMA] != b"{}\n"


@pytest.mark.req("EV-2")
def test_the_base_is_the_named_commit_even_where_the_branch_has_moved_on(repository: Path) -> None:
    root = repository.parent
    first = (repository / SCHEMA).read_bytes()
    named = git(root, "rev-parse", "HEAD").strip()
    (repository / SCHEMA).write_text("{}\n")
    git(root, "commit", "--quiet", "-am", "second")
    git(root, "update-ref", "refs/remotes/origin/main", "HEAD")

    (repository / "landed").write_text(f"{named}\n")
    base = landed.last_landed(root)
    (repository / "landed").write_text("0" * 40 + "\n")
    unknown = landed.last_landed(root)

    assert base is not None
    assert (base.commit, base.schemas[SCHEMA]) == (named, first)
    assert unknown is not None
    assert unknown.schemas[SCHEMA] == b"{}\n"


def test_without_a_remote_the_base_is_the_version_before(repository: Path) -> None:
    root = repository.parent
    first = (repository / SCHEMA).read_bytes()
    for text in ("{}\n", "[]\n"):
        (repository / SCHEMA).write_text(text)
        git(root, "commit", "--quiet", "-am", "next")

    base = landed.last_landed(root)

    assert base is not None
    assert base.schemas[SCHEMA] == b"{}\n" != first


def test_without_a_repository_there_is_no_base(tmp_path: Path) -> None:
    assert landed.last_landed(tmp_path) is None
