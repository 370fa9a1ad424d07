"""Labels are found by number, name, prefix or label file; whatever cannot be labels gets a sentence."""

import pytest

from fuselearn.datasets import DatasetError, read_table

FIRST = "happy,sad,tempo,loudness\n1,0,90,0.5\n0,1,120,0.75\n"
LAST = "tempo,loudness,happy,sad\n90,0.5,1,0\n120,0.75,0,1\n"
BINARY = "a,b,happy,sad\n0,1,1,0\n1,1,0,1\n"


@pytest.fixture
def songs(tmp_path):
    def write(text, name="songs.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (FIRST, 2), (LAST, -2),  # as MEKA
        (FIRST, "+2"), (LAST, "-2"),
        (FIRST, "2"), (LAST, "2"), (LAST, " 2 "),  # the end that holds 0 and 1 only
        (LAST, "happy,sad"), (LAST, "happy, sad"), (LAST, ["happy", "sad"]),
    ],
)  # fmt: skip
def test_by_number_and_by_name(songs, text, labels):
    X, Y = read_table(songs(text), labels=labels)
    assert list(X) == ["tempo", "loudness"]
    assert Y.to_dict("list") == {"happy": [1, 0], "sad": [0, 1]}


@pytest.mark.parametrize("labels", ["mood_*", "mood_"])
def test_by_prefix(songs, labels):
    path = songs(LAST.replace("happy,sad", "mood_happy,mood_sad"))
    assert list(read_table(path, labels=labels).y) == ["happy", "sad"]


def test_a_column_of_that_very_name_is_the_label(songs):
    path = songs("x,label,label_2\n1,0,1\n2,1,0\n")
    X, Y = read_table(path, labels="label")
    assert (list(X), list(Y)) == (["x", "label_2"], ["label"])
    assert list(read_table(path, labels="label*").y) == ["label", "label_2"], "a label keeps a name"
    path = songs('x,"sad, lonely",7\n1,0,1\n2,1,0\n')
    assert list(read_table(path, labels="sad, lonely").y) == ["sad, lonely"]
    assert list(read_table(path, labels="7").y) == ["7"]


def label_file(*names):
    return "<labels>" + "".join(f'<label name="{name}"/>' for name in names) + "</labels>"


@pytest.mark.parametrize(
    ("text", "labels", "sentence"),
    [
        (BINARY, "2", r"Both the first and the last 2 columns .* pass \+2 for the first, as MEKA does, -2"),
        (LAST, "3", "Neither the first nor the last 3 columns of .* hold 0 and 1 only"),
        (LAST, "4", "has 4 columns, of which 4 cannot be labels"),
        (LAST, "0", "of which 0 cannot be labels"),
        (LAST, "-9", "has 4 columns, of which 9 cannot be labels"),
        (LAST, "+2", "The label column 'tempo' of .* holds '90'; a label must be 0 or 1"),
        (LAST, "happy,sad,happy", "labels names the label 'happy' twice"),
        (LAST, ["sad", "sad"], "labels names the label 'sad' twice"),
        (LAST, "happy,glad", "has no column 'glad' to use as a label"),
        (LAST, "tempo,loudness,happy,sad", "names all 4 columns of .*; none is left as a feature"),
        (LAST, "mood_*", "No column of .* starts with 'mood_'"),
        (LAST, "*", "All columns of .* start with ''; none would be left as a feature"),
        (LAST, "unknown.xml", r"unknown\.xml lists 'glad', 'mad', of which .*songs\.csv has no column"),
        (LAST, "twice.xml", r"twice\.xml names the label 'sad' twice"),
        (LAST, "all.xml", r"all\.xml names all 4 columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_labels_gets_a_sentence(songs, monkeypatch, tmp_path, text, labels, sentence):
    monkeypatch.chdir(tmp_path)
    songs(label_file("glad", "sad", "mad"), "unknown.xml")
    songs(label_file("sad", "happy", "sad"), "twice.xml")
    songs(label_file("tempo", "loudness", "happy", "sad"), "all.xml")
    with pytest.raises(DatasetError, match=sentence):
        read_table(songs(text), labels=labels)
