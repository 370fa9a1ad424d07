"""The same songs in every form in which Mulan, MEKA and the UCO repository publish them."""

import gzip

import numpy as np
import pandas as pd
import pytest

from fuselearn.datasets import read_table

FEATURES = pd.DataFrame({"tempo": [90.5, 0.0, 120.0, 0.0], "loud music": [0, 1, 1, 0]})
LABELS = pd.DataFrame({"happy": [1, 0, 1, 0], "it's sad": [0, 1, 1, 0], "sad.very": [0, 1, 0, 0]})
KINDS = {"tempo": "numeric", "loud music": "{0,1}", **dict.fromkeys(LABELS, "{0,1}")}
NESTED = (
    '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
    '<label name="happy"></label>\n<label name="it\'s sad">\n  <label name="sad.very"></label>\n</label>\n</labels>\n'
)
FLAT = "<labels>" + "".join(f'<label name="{name}"></label>' for name in LABELS) + "</labels>"


def write_arff(columns, relation, *, sparse, upper=False):
    """Write the songs with their columns in the given order."""
    table = pd.concat([FEATURES, LABELS], axis=1)[columns]
    keyword = "@ATTRIBUTE" if upper else "@attribute"
    quoted = ["'" + name.replace("'", "\\'") + "'" for name in columns]
    header = [f"{keyword} {name} {KINDS[column]}" for name, column in zip(quoted, columns, strict=True)]
    rows = []
    for row in table.itertuples(index=False):
        if sparse:
            rows.append("{" + ",".join(f"{place} {value}" for place, value in enumerate(row) if value) + "}")
        else:
            rows.append(",".join(map(str, row)))
    return "\n".join([f"@relation '{relation}'", "", *header, "", "@data", *rows, ""])


def assert_songs(data):
    assert data.task == "multilabel"
    pd.testing.assert_frame_equal(data.y[list(LABELS)], LABELS)
    X = data.dense().X
    assert np.array_equal(X[list(FEATURES)].astype(float), FEATURES)
    assert sorted(X) == sorted(FEATURES)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("labels_first", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("xml", [FLAT, NESTED])
def test_mulan(tmp_path, sparse, labels_first, upper, xml):
    columns = [*LABELS, *FEATURES] if labels_first else [*FEATURES, *LABELS]
    (tmp_path / "songs.arff").write_text(write_arff(columns, "songs", sparse=sparse, upper=upper))
    (tmp_path / "songs.xml").write_text(xml)
    assert_songs(read_table(tmp_path / "songs.arff"))


def test_mulan_labels_may_stand_anywhere(tmp_path):
    columns = ["it's sad", "tempo", "happy", "loud music", "sad.very"]
    (tmp_path / "songs.arff").write_text(write_arff(columns, "songs", sparse=True))
    (tmp_path / "labels.xml").write_text(NESTED)
    assert_songs(read_table(tmp_path / "songs.arff", labels=tmp_path / "labels.xml"))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("relation", "labels_first"),
    [
        ("songs: -C 3", True),
        ("songs:-C 3", True),
        ("songs: -C 3 -split-percentage 67", True),
        ("songs: -C -3", False),
        ("songs: -split-number 3 -C -3", False),
    ],
)
def test_meka(tmp_path, sparse, relation, labels_first):
    columns = [*LABELS, *FEATURES] if labels_first else [*FEATURES, *LABELS]
    (tmp_path / "songs.arff").write_text(write_arff(columns, relation, sparse=sparse))
    (tmp_path / "songs.xml").write_text("<other/>")  # MEKA's number comes first
    assert_songs(read_table(tmp_path / "songs.arff"))


@pytest.mark.parametrize(
    "part", ["songs-train.arff", "songs-test.arff.gz", "songs-5-1tra.arff", "songs_Stratified-fold3.arff"]
)
def test_parts_of_a_dataset_share_its_label_file(tmp_path, part):
    text = write_arff([*FEATURES, *LABELS], "songs", sparse=False)
    if part.endswith(".gz"):
        (tmp_path / part).write_bytes(gzip.compress(text.encode()))
    else:
        (tmp_path / part).write_text(text)
    (tmp_path / "songs.xml").write_text(FLAT)
    (tmp_path / "song.xml").write_text("<other/>")  # the name of another dataset
    assert_songs(read_table(tmp_path / part))


def test_a_part_may_have_a_label_file_of_its_own(tmp_path):
    (tmp_path / "songs-train.arff").write_text(write_arff([*FEATURES, *LABELS], "songs", sparse=False))
    (tmp_path / "songs.xml").write_text("<other/>")
    (tmp_path / "songs-train.xml").write_text(FLAT)
    assert_songs(read_table(tmp_path / "songs-train.arff"))


def test_the_label_file_of_another_dataset_is_not_taken(tmp_path):
    text = write_arff([*FEATURES, *LABELS], "songs", sparse=False).replace("'sad.very'", "class")
    (tmp_path / "songs2.arff").write_text(text)
    (tmp_path / "songs.xml").write_text(FLAT)
    assert read_table(tmp_path / "songs2.arff").task == "multiclass"
