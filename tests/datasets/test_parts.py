"""Datasets in parts: training and test files, fixed folds, and files that do not belong together."""

import numpy as np
import pytest
from sklearn.model_selection import cross_validate

from fuselearn.datasets import DatasetError, read_parts
from fuselearn.multilabel import BinaryRelevanceClassifier

MULAN = "@relation songs\n@attribute speed numeric\n@attribute kind {rock,jazz}\n@attribute sad {0,1}\n@data\n"
XML = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="sad"></label></labels>'


def write(folder, name, lines, header=MULAN):
    path = folder / name
    path.write_text(header + "".join(f"{line}\n" for line in lines))
    return path


def test_a_training_and_a_test_part(tmp_path):
    (tmp_path / "songs.xml").write_text(XML)
    train = write(tmp_path, "songs-train.arff", ["60,rock,1", "90,rock,0", "80,rock,0"])
    test = write(tmp_path, "songs-test.arff", ["70,jazz,1"])
    data, splits = read_parts([train, test])
    assert data.X["speed"].tolist() == [60, 90, 80, 70]
    assert data.X["kind"].tolist() == ["rock", "rock", "rock", "jazz"]
    assert data.X["kind"].dtype.name == "category"
    assert data.y["sad"].tolist() == [1, 0, 0, 1]
    assert [(inside.tolist(), outside.tolist()) for inside, outside in splits] == [([0, 1, 2], [3])]


def test_folds_are_test_parts_in_turn(tmp_path):
    (tmp_path / "songs.xml").write_text(XML)
    lines = [f"{speed},rock,{int(speed > 80)}" for speed in (60, 70, 90, 100)]
    files = [write(tmp_path, f"songs-fold{k}.arff", lines[: k + 2]) for k in range(3)]
    data, splits = read_parts(files, labels=["sad"])
    assert len(data.X) == 9
    assert [outside.tolist() for _, outside in splits] == [[0, 1], [2, 3, 4], [5, 6, 7, 8]]
    for inside, outside in splits:
        assert sorted([*inside, *outside]) == list(range(9))
    scores = cross_validate(BinaryRelevanceClassifier("tree"), *data, cv=splits, scoring="f1_macro")
    assert len(scores["test_score"]) == 3


def test_sparse_parts_stay_sparse(tmp_path):
    attributes = "".join(f"@attribute w{k} numeric\n" for k in range(150))
    header = f"@relation 'texts: -C 1'\n@attribute sad {{0,1}}\n{attributes}@data\n"
    files = [
        write(tmp_path, name, lines, header) for name, lines in (("a.arff", ["{0 1,3 2.5}"]), ("b.arff", ["{7 1}"]))
    ]
    data, _ = read_parts(files)
    assert data.is_sparse
    assert data.X.shape == (2, 150)
    assert data.X.toarray().sum() == 3.5
    assert len(data.feature_names) == 150
    np.testing.assert_array_equal(data.y["sad"], [1, 0])


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        (MULAN.replace("speed", "tempo"), {"labels": ["sad"]}, "different features, of which 'speed' is in one"),
        (MULAN, {"labels": ["sad", "speed"]}, "'speed' of .* holds '60.0'; a label must be 0 or 1"),
        (MULAN.replace("sad", "glad"), {"labels": ["sad"]}, "has no column 'sad'"),
    ],
)
def test_files_that_do_not_belong_together(tmp_path, header, options, message):
    files = [write(tmp_path, "a.arff", ["60,rock,1"]), write(tmp_path, "b.arff", ["70,jazz,0"], header)]
    with pytest.raises(DatasetError, match=message):
        read_parts(files, **options)


@pytest.mark.parametrize("paths", ["songs.arff", ["songs.arff"], []])
def test_one_file_is_no_parts(paths):
    with pytest.raises(DatasetError, match="two files or more"):
        read_parts(paths)
