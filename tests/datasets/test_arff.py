import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fuselearn.datasets import DatasetError, read_table
from fuselearn.datasets.files import TextFormat, read_whole


@pytest.fixture
def arff(tmp_path):
    def read(text):
        path = tmp_path / "a.arff"
        path.write_text(text, encoding="utf-8")
        return read_whole(path, TextFormat())

    return read


def test_dense_rows_with_everything_the_format_allows(arff):
    table = arff(
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
    frame = table.frame()
    assert table.relation == "my data"
    assert list(frame) == ["two words", "it's", "colour", "note"]
    assert frame["two words"].tolist()[::2] == [1.5, -1000.0]
    assert np.isnan(frame["two words"][1])
    assert frame["it's"].tolist() == [2, 3, 4]
    assert frame["it's"].dtype == np.int64
    assert list(frame["colour"].cat.categories) == ["red", "light blue", "50%, about"]
    assert frame["colour"].tolist() == ["red", "light blue", "50%, about"]
    assert frame["note"].tolist() == ["a, 'b' \t c", None, "don't"]


def test_a_quoted_question_mark_is_a_value(arff):
    frame = arff("@relation r\n@attribute a {'?', x}\n@data\n'?'\n?\nx\n").frame()
    assert frame["a"].isna().tolist() == [False, True, False]


def test_sparse_rows_mean_zero_or_the_first_value(arff):
    frame = arff(
        "@relation r\n@attribute a real\n@attribute b {no, yes}\n@attribute c {x, 'y z'}\n@data\n"
        "{0 2.5, 2 'y z'}\n{}\n{1 yes}\n{ 0 ? , 1 ? }\n1,yes,x\n"
    ).frame()
    assert frame["a"].tolist()[:3] == [2.5, 0.0, 0.0]
    assert np.isnan(frame["a"][3])
    assert frame["b"].tolist()[:3] == ["no", "no", "yes"]
    assert frame["b"].isna().tolist() == [False, False, False, True, False]
    assert frame["c"].tolist() == ["y z", "x", "x", "x", "x"]


def test_an_unquoted_backslash_is_itself(arff):
    assert arff("@relation r\n@attribute a string\n@data\nC:\\new\n").frame()["a"][0] == "C:\\new"


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
        (HEADER + "{0 1\n", "opens a sparse sample"),
        (HEADER + "{0 1, 2 x}\n", "uses the index 2; the last attribute is 1"),
        (HEADER + "{0 1, 0 2}\n", "uses the index 0 twice"),
        (HEADER + "{0 1, x}\n", "should hold 'index value' pairs, but has ' x'"),
        ("@relation r\n@attribute a real\n", "has no @data line"),
        ("@relation r\n@data\n1\n", "no @attribute precedes it"),
        ("a,b\n1,2\n", "Line 1 of .* is neither @relation"),
        ("@relation r\n@attribute a\n", "Line 2 of .* is not '@attribute name type'"),
        ("@relation r\n@attribute a {x,y\n", "does not close them"),
        ("@relation r\n@attribute a {x,x}\n", "lists a value of 'a' twice"),
        ("@relation r\n@attribute a date 'yyyy'\n", "declares 'a' as 'date'"),
        ("@relation r\n@attribute a real\n@attribute a real\n", "the attribute 'a' again"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(arff, text, sentence):
    with pytest.raises(DatasetError, match=sentence):
        arff(text).frame()


def sparse_file(n_features, rows, kind="numeric"):
    """Write samples, each a dict of values by index, the last index being that of the class."""
    lines = [f"@attribute w{place} {kind}" for place in range(n_features)] + ["@attribute class {a,b}"]
    cells = ["{" + ", ".join(f"{place} {value}" for place, value in sorted(row.items())) + "}" for row in rows]
    return "\n".join(["@relation r", *lines, "@data", *cells]) + "\n"


cells = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.just("?"), st.just(0))
sparse_rows = st.lists(st.dictionaries(st.integers(0, 149), cells, max_size=6), min_size=1, max_size=8)


@settings(max_examples=20)
@given(sparse_rows)
def test_sparse_samples_mean_the_same_as_a_matrix_and_as_a_frame(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("sparse") / "a.arff"
    for number, row in enumerate(rows):
        row[150] = "ab"[number % 2]
    path.write_text(sparse_file(150, rows))
    X, y = read_table(path)
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.nnz == sum(value == "?" or value != 0 for row in rows for value in row.values()) - len(rows)
    assert y.tolist() == [row[150] for row in rows]
    frame = read_whole(path, TextFormat()).frame()
    np.testing.assert_array_equal(X.toarray(), frame.drop(columns="class").to_numpy())
    dataset = read_table(path).dense()
    assert list(dataset.X) == dataset.feature_names == [f"w{place}" for place in range(150)]
    np.testing.assert_array_equal(dataset.X.to_numpy(), X.toarray())


def test_narrow_tables_and_categories_are_frames(tmp_path):
    path = tmp_path / "a.arff"
    rows = [{0: 1, 3: 1}, {1: 1}]
    path.write_text(sparse_file(100, rows))
    assert isinstance(read_table(path).X, pd.DataFrame)
    path.write_text(sparse_file(101, rows))
    assert read_table(path).is_sparse
    path.write_text(sparse_file(101, rows, "{0,1}"))  # as Mulan declares binary features
    assert read_table(path).X.toarray().sum() == 3
    path.write_text(sparse_file(101, rows, "{0,1,2}"))
    assert read_table(path).X.dtypes.astype(str).unique().tolist() == ["category"]
    path.write_text(sparse_file(101, rows) + ",".join(["0"] * 101 + ["a"]) + "\n")
    assert isinstance(read_table(path).X, pd.DataFrame)


def test_a_wide_sparse_table_is_never_made_dense(tmp_path):
    rng = np.random.default_rng(0)
    rows = [dict.fromkeys(rng.choice(10_000, 20, replace=False).tolist(), 1.5) for _ in range(200)]
    path = tmp_path / "a.arff"
    path.write_text(sparse_file(10_000, [{**row, 10_000: "b"} for row in rows]))
    tracemalloc.start()
    data = read_table(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (data.X.shape, data.X.nnz) == ((200, 10_000), 4_000)
    assert len(data.feature_names) == 10_000
    assert most < 8 * 200 * 10_000


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({0: 1, 7: "many"}, "Line 155 of .* has 'many' for 'w7', which is not a number"),
        ({151: 1}, "uses the index 151; the last attribute is 150"),
    ],
)
def test_what_is_wrong_in_a_sparse_matrix_is_named_with_its_line(tmp_path, row, sentence):
    path = tmp_path / "a.arff"
    path.write_text(sparse_file(150, [{0: 1}, row]))
    with pytest.raises(DatasetError, match=sentence):
        read_table(path)
    path.write_text(sparse_file(150, [{0: 1}, {9: 2}], "{0,1}"))
    with pytest.raises(DatasetError, match=r"Line 155 of .* has '2' for 'w9', which is not among its declared values"):
        read_table(path)
