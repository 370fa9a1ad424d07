"""Labels are found by number, name, prefix or label file, in every form in which Mulan and MEKA publish them."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest

from fuselearn.datasets import DatasetError, TableCleaner, read_table
from fuselearn.datasets.arff import meka_label_count, read_mulan_labels

FIRST = "happy,sad,tempo,loudness\n1,0,90,0.5\n0,1,120,0.75\n"
LAST = "tempo,loudness,happy,sad\n90,0.5,1,0\n120,0.75,0,1\n"


@pytest.fixture
def songs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="songs.csv"):
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (FIRST, 2), (FIRST, np.int64(2)), (LAST, -2),  # as MEKA
        (LAST, "happy,sad"), (LAST, "happy, sad"), (LAST, ["happy", "sad"]),
        (LAST.replace("happy,sad", "mood_happy,mood_sad"), "mood_*"),
        (LAST.replace("happy,sad", "label:happy,label:sad"), None),
    ],
)  # fmt: skip
def test_by_number_name_and_prefix(songs, text, labels):
    X, Y = read_table(songs(text), labels=labels)
    assert list(X) == ["tempo", "loudness"]
    assert Y.to_dict("list") == {"happy": [1, 0], "sad": [0, 1]}


def test_a_column_of_that_very_name_is_the_label(songs):
    path = songs("x,label,label_2\n1,0,1\n2,1,0\n")
    X, Y = read_table(path, labels="label")
    assert (list(X), list(Y)) == (["x", "label_2"], ["label"])
    assert list(read_table(path, labels="label*").y) == ["label", "label_2"], "a label keeps a name"
    path = songs('x,"sad, lonely",7\n1,0,1\n2,1,0\n')
    assert list(read_table(path, labels="sad, lonely").y) == ["sad, lonely"]
    for seven in ("7", ["7"], "7,"):
        assert list(read_table(path, labels=seven).y) == ["7"]


def test_what_may_be_a_name_and_a_number_of_columns_is_refused_with_both_readings(songs):
    path = songs("1,2,tempo\n1,0,90\n0,1,120\n")
    with pytest.raises(
        DatasetError, match=r"labels=2 may mean the first 2 columns of .* or its column '2'; .* \['2'\]"
    ):
        read_table(path, labels=2)
    for text in ("6", "-1", " +2 "):
        with pytest.raises(DatasetError, match=r"no column labels='.*'. Pass the names .*, or a number"):
            read_table(path, labels=text)


@pytest.mark.parametrize("name", ["songs.csv", "songs.arff"])
def test_remaining_columns_that_look_like_labels_are_features_only_if_named(songs, name):
    columns = ["label:happy", "label:sad", *(f"f{k}" for k in range(101))]
    if name == "songs.csv":
        path = songs(",".join(columns) + "\n" + "1,0," + ",".join("8" * 101) + "\n", name)
    else:
        header = "".join(f"@attribute {column} numeric\n" for column in columns)
        path = songs(f"@relation r\n{header}@data\n{{0 1, 7 8}}\n", name)
    for cleaner in (None, TableCleaner()):
        for how in ({"labels": ["label:happy"]}, {"target": "label:happy"}):
            with pytest.warns(UserWarning, match="look like labels and are not used as features: 'label:sad'") as said:
                data = read_table(path, **how, cleaner=cleaner)
            shown = sum(warning.category is UserWarning for warning in said)
            assert (len(data.feature_names), data.X.shape, shown) == (101, (1, 101), 1)
    for options, n_features in (
        ({"keep": ["label:sad"]}, 102),
        ({"only": ["label:sad", "f1"]}, 2),
        ({"drop": ["label:sad"]}, 101),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            data = read_table(path, "label:happy", cleaner=TableCleaner(**options))
        assert data.X.shape == (1, n_features)


def label_file(*names):
    return "<labels>" + "".join(f'<label name="{name}"/>' for name in names) + "</labels>"


@pytest.mark.parametrize(
    ("text", "labels", "sentence"),
    [
        (LAST, 4, "has 4 columns; 4 of them cannot be labels"),
        (LAST, 0, "0 of them cannot be labels"),
        (LAST, -9, "has 4 columns; 9 of them cannot be labels"),
        (LAST, 2, r"label column 'tempo' of .* contains '90'; a label must be 0 or 1.* \(-2 takes the last 2 columns"),
        (FIRST, -2, r"a label must be 0 or 1.* \(2 takes the first 2 columns"),
        (LAST, "mood", "no column 'mood' to use as a label"),
        (LAST, [], "labels is empty"),
        (LAST, "happy,sad,happy", "labels names the label 'happy' twice"),
        (LAST, ["sad", "sad"], "labels names the label 'sad' twice"),
        (LAST, "happy,glad", "has no column 'glad' to use as a label"),
        (LAST, "tempo,loudness,happy,sad", "names all 4 columns of .*; no feature is left"),
        (LAST, "mood_*", "No column of .* starts with 'mood_'"),
        (LAST, "*", "All columns of .* start with ''; no feature is left"),
        (LAST, "unknown.xml", r"songs\.csv has no column 'glad' to use as a label of unknown\.xml"),
        (LAST, "twice.xml", r"twice\.xml names the label 'sad' twice"),
        (LAST, "all.xml", r"all\.xml names all 4 columns"),
        (LAST, "broken.xml", r"broken\.xml is not a readable XML file"),
        (LAST, "empty.xml", r"empty\.xml must hold <label name='\.\.\.'>"),
    ],
)  # fmt: skip
def test_what_cannot_be_labels_gets_a_sentence(songs, text, labels, sentence):
    songs(label_file("glad", "sad", "mad"), "unknown.xml")
    songs(label_file("sad", "happy", "sad"), "twice.xml")
    songs(label_file("tempo", "loudness", "happy", "sad"), "all.xml")
    songs("<labels><label>", "broken.xml")
    songs("<labels/>", "empty.xml")
    with pytest.raises(DatasetError, match=sentence):
        read_table(songs(text), labels=labels)


@pytest.mark.parametrize(
    ("relation", "count"),
    [
        ("Music: -C 6", 6),
        ("'x -C 3 -split-percentage 50'", 3),
        ("enron:-C -53", -53),
        ("a: -C -53", -53),
        ("vitamin-C 5", None),
        ("r: -c 4", None),
    ],
)
def test_meka_writes_the_number_of_labels_into_the_relation(relation, count):
    assert meka_label_count(relation) == count


FEATURES = pd.DataFrame({"tempo": [90.5, 0.0, 120.0, 0.0], "loud music": [0, 1, 1, 0]})
LABELS = pd.DataFrame({"happy": [1, 0, 1, 0], "it's sad": [0, 1, 1, 0], "sad.very": [0, 1, 0, 0]})
KINDS = {"tempo": "numeric", "loud music": "{0,1}", **dict.fromkeys(LABELS, "{0,1}")}
NESTED = (
    '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
    '<label name="happy"></label>\n<label name="it\'s sad">\n  <label name="sad.very"></label>\n</label>\n</labels>\n'
)
LABELS_LAST = [*FEATURES, *LABELS]
LABELS_FIRST = [*LABELS, *FEATURES]


def arff(columns=LABELS_LAST, relation="songs", *, sparse=False, upper=False):
    """Write the songs with their columns in the given order."""
    keyword = "@ATTRIBUTE" if upper else "@attribute"
    header = [f"{keyword} '{column.replace(chr(39), chr(92) + chr(39))}' {KINDS[column]}" for column in columns]
    rows = pd.concat([FEATURES, LABELS], axis=1)[columns].itertuples(index=False)
    if sparse:
        lines = ("{" + ",".join(f"{place} {value}" for place, value in enumerate(row) if value) + "}" for row in rows)
    else:
        lines = (",".join(map(str, row)) for row in rows)
    return "\n".join([f"@relation '{relation}'", "", *header, "", "@data", *lines, ""])


def assert_songs(data):
    pd.testing.assert_frame_equal(data.y[list(LABELS)], LABELS)
    X = data.dense().X
    assert np.array_equal(X[list(FEATURES)].astype(float), FEATURES)
    assert sorted(X) == sorted(FEATURES)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("columns", "upper", "xml"),
    [(LABELS_LAST, False, NESTED), (LABELS_FIRST, True, NESTED), (LABELS_LAST, True, label_file(*LABELS))],
)
def test_mulan(songs, sparse, columns, upper, xml):
    songs(xml, "songs.xml")
    assert_songs(read_table(songs(arff(columns, sparse=sparse, upper=upper), "songs.arff")))


def test_mulan_labels_may_stand_anywhere(songs):
    path = songs(arff(["it's sad", "tempo", "happy", "loud music", "sad.very"], sparse=True), "songs.arff")
    xml = songs(NESTED, "labels.xml")
    assert read_mulan_labels(xml) == list(LABELS)
    for labels in (xml, str(xml)):
        assert_songs(read_table(path, labels=labels))
    with pytest.raises(DatasetError, match="does not define a target"):
        read_table(path)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("relation", "columns"),
    [("songs: -C 3 -split-percentage 67", LABELS_FIRST), ("songs: -split-number 3 -C -3", LABELS_LAST)],
)
def test_meka(songs, sparse, relation, columns):
    songs("<other/>", "songs.xml")  # MEKA's number comes first
    path = songs(arff(columns, relation, sparse=sparse), "songs.arff")
    assert_songs(read_table(path))
    assert read_table(path, target="happy").y.tolist() == ["1", "0", "1", "0"], "an argument comes before it"


@pytest.mark.parametrize(
    "part", ["songs-train.arff", "songs-test.arff.gz", "songs-5-1tra.arff", "songs_Stratified-fold3.arff"]
)
def test_parts_of_a_dataset_share_its_label_file(songs, part):
    songs(label_file(*LABELS), "songs.xml")
    songs("<other/>", "song.xml")  # the name of another dataset
    assert_songs(read_table(songs(arff(), part)))


def test_a_part_may_have_a_label_file_of_its_own(songs):
    songs("<other/>", "songs.xml")
    songs(label_file(*LABELS), "songs-train.xml")
    assert_songs(read_table(songs(arff(), "songs-train.arff")))


def test_the_label_file_of_another_table_is_not_taken(songs):
    songs(label_file(*LABELS), "songs.xml")
    assert read_table(songs(arff().replace("'sad.very'", "class"), "songs2.arff")).task == "multiclass"
    assert read_table(songs("class,a\nu,1\n", "songs.csv")).task == "multiclass"
