"""No command writes onto what it reads, or over a file of another kind without being told to."""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fuselearn
from fuselearn.cli.main import app

runner = CliRunner()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a table, a model of it, its predictions and its ONNX file."""
    folder = tmp_path_factory.mktemp("made")
    frame = pd.DataFrame({"size": np.arange(40.0) % 20, "kind": np.repeat(["a", "b"], 20)})
    frame.loc[20:, "size"] += 20
    frame.to_csv(folder / "t.csv", index=False)
    model = fuselearn.CARTClassifier().fit(frame[["size"]], frame["kind"])
    fuselearn.save(model, folder / "m.fuse")
    (folder / "p.csv").write_text("prediction\na\n")
    (folder / "m.onnx").write_bytes(fuselearn.to_onnx(model).SerializeToString())
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, code=0):
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return " ".join(result.output.split())


COMMANDS = {
    "train": (["train", "t.csv", "-t", "kind", "-m", "cart", "-o"], ["t.csv"]),
    "predict": (["predict", "m.fuse", "t.csv", "-o"], ["t.csv", "m.fuse"]),
    "export": (["export", "m.fuse", "-o"], ["m.fuse"]),
}
ONTO_INPUT = [(command, source) for command, (_, sources) in COMMANDS.items() for source in sources]


def spell(way, source, folder):
    """Write the path of a file in another way."""
    if way == "symlink":
        os.symlink(source, "link")
        return "link"
    if way == "hard link":
        os.link(source, "twin")
        return "twin"
    if way == "folder link":
        os.symlink(folder, "here")
        return f"here/{source}"
    ways = {
        "same": source,
        "absolute": folder / source,
        "dots": f"../{folder.name}/{source}",
        "capitals": source.upper(),
    }
    return ways[way]


@pytest.mark.parametrize("way", ["same", "absolute", "dots", "symlink", "hard link", "folder link", "capitals"])
@pytest.mark.parametrize(("command", "source"), ONTO_INPUT)
def test_an_input_is_never_written_to(folder, command, source, way):
    before = (folder / source).read_bytes()
    output = spell(way, source, folder)
    if not Path(output).exists():
        pytest.skip("the file system tells capitals apart")
    for force in ([], ["--force"]):
        said = run(*COMMANDS[command][0], output, *force, code=2)
        assert f"{output} is the input {source}" in said
    assert (folder / source).read_bytes() == before


def test_the_label_file_of_a_table_is_an_input(folder):
    (folder / "songs.arff").write_text("@relation r\n@attribute x real\n@attribute p {0,1}\n@data\n1,0\n2,1\n")
    (folder / "songs.xml").write_text('<labels><label name="p"/></labels>')
    (folder / "other.xml").write_text('<labels><label name="p"/></labels>')
    assert "is the input songs.xml" in run("train", "songs.arff", "-o", "songs.xml", "--force", code=2)
    options = ["train", "songs.arff", "--labels", "other.xml", "-o", "other.xml", "--force"]
    assert "is the input other.xml" in run(*options, code=2)


@pytest.mark.parametrize(
    ("command", "own", "others"),
    [
        ("train", "m.fuse", ["p.csv", "m.onnx", "notes"]),
        ("predict", "p.csv", ["other.csv", "m.onnx", "notes"]),
        ("export", "m.onnx", ["p.csv", "other.fuse", "notes"]),
    ],
)
def test_a_former_output_is_replaced_and_other_files_only_by_force(folder, command, own, others):
    (folder / "notes").write_text("my notes")
    (folder / "other.csv").write_text("size,prediction,kind\n1,2,3\n")
    shutil.copy(folder / "m.fuse", folder / "other.fuse")
    arguments = COMMANDS[command][0]
    run(*arguments, own)
    for other in others:
        before = (folder / other).read_bytes()
        said = run(*arguments, other, code=2)
        assert f"{other} exists and is no" in said
        assert "use --force to replace it" in said
        assert (folder / other).read_bytes() == before
        run(*arguments, other, "--force")
        assert (folder / other).read_bytes() != before


def test_empty_files_and_devices_may_be_written_to(folder):
    (folder / "empty").touch()
    run(*COMMANDS["predict"][0], "empty")
    assert (folder / "empty").read_text().startswith("prediction\n")
    run(*COMMANDS["predict"][0], os.devnull)


def test_predictions_with_names_and_probabilities_are_predictions(folder):
    table = pd.read_csv("t.csv").assign(name="x")
    table.to_csv("named.csv", index=False)
    for options in (["--proba"], ["--index", "name"], ["--index", "name", "--proba"], []):
        run("predict", "m.fuse", "named.csv", "-o", "again.csv", *options)


COMPARE = ["compare", "t.csv", "-t", "kind", "-m", "cart", "--repeats", 1, "--folds", 2, "--jobs", 1]


@pytest.fixture
def _no_figures(monkeypatch):
    monkeypatch.setattr("fuselearn.lab.report.draw", lambda *arguments: [])


@pytest.mark.usefixtures("_no_figures")
def test_runs_and_reports_replace_their_own_files_only(folder):
    run(*COMPARE)
    run(*COMPARE)  # its own files may be replaced
    out = folder / "out"
    out.mkdir()
    for name in ("report.html", "summary.csv"):
        (out / name).write_text("mine, and valuable")
        assert f"{name} exists and is no" in run(*COMPARE, "--out", out, code=2)
        assert [path.name for path in out.iterdir()] == [name]
        (out / name).rename(folder / name)
    for name in ("report.html", "summary.csv"):
        (folder / name).rename(out / name)
    run(*COMPARE, "--out", out, "--force")
    assert not any((out / name).read_text() == "mine, and valuable" for name in ("report.html", "summary.csv"))
    shutil.copy("t.csv", "out/summary.csv")
    arguments = ["compare", "out/summary.csv", *COMPARE[2:], "--out", "out", "--force"]
    assert "is the input" in run(*arguments, code=2)
    assert Path("out/summary.csv").read_bytes() == Path("t.csv").read_bytes()
    store = folder / "fuselearn-t" / "results.db"
    before = store.read_bytes()
    assert "is the input" in run("report", store, "-o", store, "--force", code=2)
    assert store.read_bytes() == before
    Path("page.html").write_text("<title>Mine</title>")
    assert "is not a report" in run("report", store, "-o", "page.html", code=2)
    for force in (["--force"], []):
        run("report", store, "-o", "page.html", *force)
