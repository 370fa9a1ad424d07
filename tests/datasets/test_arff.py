import gzip

import numpy as np
import pytest

from fuselearn.datasets import DatasetError
from fuselearn.datasets.arff import meka_label_count, read_arff, read_mulan_labels


@pytest.fixture
def arff(tmp_path):
    def read(text):
        path = tmp_path / "a.arff"
        path.write_text(text, encoding="utf-8")
        return read_arff(path)

    return read


def test_dense_rows_with_everything_the_format_allows(arff):
    relation, frame = arff(
        "\ufeff% a comment\n"
        "@RELATION 'my data'\n\n"
        "@Attribute 'two words' REAL   % a comment behind\n"
        '@attribute "it\'s" integer\n'
        "@attribute colour{red, 'light blue' , \"50%, about\"}\n"
        "@attribute\tnote\tstring\n"
        "@DATA\n"
        "% another comment\n"
        "1.5, 2,red,'a, \\'b\\' \\t c'\n"
        "\n"
        "?,3,'light blue',?\n"
        '-1e3 , 4 , "50%, about" , don\'t   % behind\n'
    )
    assert relation == "my data"
    assert list(frame) == ["two words", "it's", "colour", "note"]
    assert frame["two words"].tolist()[::2] == [1.5, -1000.0]
    assert np.isnan(frame["two words"][1])
    assert frame["it's"].tolist() == [2, 3, 4]
    assert frame["it's"].dtype == np.int64
    assert list(frame["colour"].cat.categories) == ["red", "light blue", "50%, about"]
    assert frame["colour"].tolist() == ["red", "light blue", "50%, about"]
    assert frame["note"].tolist() == ["a, 'b' \t c", None, "don't"]


def test_a_quoted_question_mark_is_a_value(arff):
    frame = arff("@relation r\n@attribute a {'?', x}\n@data\n'?'\n?\nx\n").frame
    assert frame["a"].isna().tolist() == [False, True, False]


def test_sparse_rows_mean_zero_or_the_first_value(arff):
    frame = arff(
        "@relation r\n@attribute a real\n@attribute b {no, yes}\n@attribute c {x, 'y z'}\n@data\n"
        "{0 2.5, 2 'y z'}\n{}\n{1 yes}\n{ 0 ? , 1 ? }\n1,yes,x\n"
    ).frame
    assert frame["a"].tolist()[:3] == [2.5, 0.0, 0.0]
    assert np.isnan(frame["a"][3])
    assert frame["b"].tolist()[:3] == ["no", "no", "yes"]
    assert frame["b"].isna().tolist() == [False, False, False, True, False]
    assert frame["c"].tolist() == ["y z", "x", "x", "x", "x"]


def test_an_unquoted_backslash_is_itself(arff):
    assert arff("@relation r\n@attribute a string\n@data\nC:\\new\n").frame["a"][0] == "C:\\new"


def test_gzipped_files_are_read(tmp_path):
    path = tmp_path / "a.arff.gz"
    path.write_bytes(gzip.compress(b"@relation r\n@attribute a real\n@data\n1\n2\n"))
    assert read_arff(path).frame["a"].tolist() == [1.0, 2.0]


HEADER = "@relation r\n@attribute a real\n@attribute b {x,y}\n@data\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEADER + "1,x\n2\n", r"Line 6 of .*a\.arff has 1 values for 2 attributes"),
        (HEADER + "1,x,\n", "has 3 values for 2 attributes"),
        (HEADER + "1,x\none,y\n", "Line 6 of .* has 'one' for 'a', which is not a number"),
        (HEADER + ",x\n", "has '' for 'a', which is not a number"),
        (HEADER + "% c\n1,z\n", "Line 6 of .* has 'z' for 'b', which is not among its declared"),
        (HEADER + "1,'x\n", r"Line 5 of .* quote that does not match, near \"'x\""),
        (HEADER + "1,x,{5}\n", "ends with an instance weight"),
        (HEADER + "{0 1},{5}\n", "ends with an instance weight"),
        (HEADER + "{0 1\n", "opens a sparse row"),
        (HEADER + "{0 1, 2 x}\n", "uses the index 2; the last attribute is 1"),
        (HEADER + "{0 1, 0 2}\n", "gives the index 0 twice"),
        (HEADER + "{0 1, x}\n", "should hold 'index value' pairs, but has ' x'"),
        ("@relation r\n@attribute a real\n", "has no @data line"),
        ("@relation r\n@data\n1\n", "no @attribute came before"),
        ("a,b\n1,2\n", "Line 1 of .* is neither @relation"),
        ("@relation r\n@attribute a\n", "Line 2 of .* is not '@attribute name type'"),
        ("@relation r\n@attribute a {x,y\n", "does not close them"),
        ("@relation r\n@attribute a {x,x}\n", "lists a value of 'a' twice"),
        ("@relation r\n@attribute a date 'yyyy'\n", "gives 'a' the type 'date'"),
        ("@relation r\n@attribute a real\n@attribute a real\n", "the attribute 'a' again"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(arff, text, sentence):
    with pytest.raises(DatasetError, match=sentence):
        arff(text)


@pytest.mark.parametrize(
    ("relation", "count"),
    [
        ("Music: -C 6", 6),
        ("'x -C 3 -split-percentage 50'", 3),
        ("enron:-C -53", None),
        ("a: -C -53", -53),
        ("vitamin-C 5", None),
        ("r: -c 4", None),
    ],
)
def test_meka_writes_the_number_of_labels_into_the_relation(relation, count):
    assert meka_label_count(relation) == count


def test_mulan_labels_may_be_nested(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(
        '<?xml version="1.0"?><labels xmlns="http://mulan.sourceforge.net/labels">'
        '<label name="a &amp; b"><label name="c"/></label><label name="d"></label></labels>'
    )
    assert read_mulan_labels(path) == ["a & b", "c", "d"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("<labels><label>", "not a readable XML"), ("<labels/>", "must hold <label name='...'>")],
)
def test_a_bad_label_file_is_named(tmp_path, text, sentence):
    path = tmp_path / "a.xml"
    path.write_text(text)
    with pytest.raises(DatasetError, match=rf"a\.xml .*{sentence}"):
        read_mulan_labels(path)
