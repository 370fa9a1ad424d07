"""Tables of every format and dialect are read, whole and in blocks, or refused with a sentence."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.datasets import Dataset, DatasetError, read_table
from fuselearn.datasets.columns import tidy_features
from fuselearn.datasets.files import TableStream, TextFormat
from fuselearn.datasets.tables import class_names, code_labels, doubt_classes

CSV = "weight,color,kind\n1.5,red,apple\n?,None,pear\n3,red,apple\n"
TEXT = "größe,farbe,my kind\n1.5,rot,x\n-2.25,grün,y\n1000,rot,x\n"


@pytest.fixture
def write(tmp_path):
    def make(name, text, encoding="utf-8"):
        path = tmp_path / name
        data = text.encode(encoding)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return make


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.CSV", "my.data.csv"])
def test_a_csv_file_with_one_class_per_row(write, name):
    dataset = read_table(write(name, CSV), target="kind")
    X, y = dataset
    assert X.dtypes.astype(str).to_dict() == {"weight": "float64", "color": "category"}
    assert np.isnan(X["weight"][1])
    assert X["color"].tolist() == ["red", "None", "red"]
    assert y.tolist() == ["apple", "pear", "apple"]
    size = "3 samples, 2 features, 2 classes"
    assert repr(dataset) == f"Dataset({name.split('.')[0]!r}: {size}, from {dataset.source})"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TEXT, {}),
        ("\ufeff" + TEXT, {}),
        (TEXT.replace("\n", "\r\n"), {}),
        (TEXT.replace("\n", "\r"), {}),
        ("\n" + TEXT + "\n\n", {}),
        (TEXT.replace(",", ", "), {}),
        (TEXT.replace(",", ";"), {}),
        (TEXT.replace(",", "\t"), {}),
        (TEXT.replace(",", "|"), {}),
        (TEXT.replace(",", ":"), {"sep": ":"}),
        (TEXT.replace(",", ";").replace(".", ","), {"decimal": ","}),
        (TEXT, {"encoding": "latin-1"}),
        (TEXT, {"encoding": "utf-16"}),
        (TEXT.replace("farbe", '"farbe"').replace("rot", '"rot"'), {}),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_dialects(write, text, options, name):
    path = write(name, text, options.get("encoding", "utf-8"))
    X, y = read_table(path, "my kind", **options)
    assert X["größe"].tolist() == [1.5, -2.25, 1000.0]
    assert X["farbe"].tolist() == ["rot", "grün", "rot"]
    assert y.tolist() == ["x", "y", "x"]
    [block] = TableStream(path, ["größe"], ["farbe"], form=TextFormat(**options))
    assert block["größe"].tolist() == X["größe"].tolist()
    assert block["farbe"].tolist() == X["farbe"].tolist()


names = st.text('abcXYZ ,;|"', min_size=1, max_size=6).filter(lambda name: name.strip())


@settings(max_examples=30)
@given(st.lists(names, min_size=2, max_size=5, unique=True), st.sampled_from(",;\t|"))
def test_the_separator_is_found_in_the_first_lines(tmp_path_factory, header, mark):
    path = tmp_path_factory.mktemp("separators") / "t.csv"
    quoted = mark.join('"' + name.replace('"', '""') + '"' for name in header)
    path.write_text(f"{quoted}\n{mark.join('7' * len(header))}\n")
    data = read_table(path, header[0])
    assert [data.y.name, *data.X] == header
    assert (data.X == 7).all().all()


def test_odd_headers_and_cells(write):
    path = write("t.csv", '"far\nbe",class\n"light, ""very"" light\nblue",x\nred,y\n')
    assert read_table(path).X["far\nbe"].tolist() == ['light, "very" light\nblue', "red"]
    assert list(read_table(write("t.csv", ",a,kind\n0,5,x\n1,6,y\n"), "kind").X) == ["Unnamed: 0", "a"]
    assert list(read_table(write("t.tsv", CSV.replace(",", "\t")), "kind").X) == ["weight", "color"]
    X, _ = read_table(write("a.csv", "country,n,kind\nNA,1,u\nDE,-,v\n"), "kind", missing=["-"])
    assert X["country"].tolist() == ["NA", "DE"]
    assert np.isnan(X["n"][1])


def test_words_among_numbers_do_not_hide_their_decimal_mark(write):
    path = write("t.csv", "size;kind\n1,5;x\nunknown;y\n")
    assert read_table(path, "kind", decimal=",").X["size"].tolist() == ["1.5", "unknown"]
    [block] = TableStream(path, texts=["size"], form=TextFormat(decimal=","))
    assert block["size"].tolist() == ["1.5", "unknown"]


def test_parquet_files_are_read(tmp_path):
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["u", "v"], "kind": ["x", "y"]})
    frame.to_parquet(tmp_path / "a.parquet")
    X, y = read_table(tmp_path / "a.parquet", target="kind")
    assert X.dtypes.astype(str).tolist() == ["float64", "category"]
    assert y.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "text", "options", "sentence"),
    [
        ("a.csv", CSV, {"target": None}, r"a\.csv does not define a target.*'weight', 'color', 'kind'"),
        (
            "a.csv",
            CSV,
            {"target": "knd"},
            "no column 'knd' to use as the target; did you mean 'kind'\\? The columns are",
        ),
        ("a.csv", CSV, {"target": "zzz"}, "no column 'zzz' to use as the target\\. The columns are 'weight', 'color'"),
        ("a.csv", CSV, {"labels": 1}, "either target .* or labels, not both"),
        ("a.csv", CSV, {"encoding": "utf-9"}, "Unknown encoding 'utf-9'"),
        ("a.csv", "", {}, r"a\.csv is empty"),
        ("a.csv", "a,kind\n", {}, "has column names but no samples"),
        ("a.csv", "a,a,kind\n1,2,x\n", {}, "has two columns named 'a'"),
        ("a.csv", "a,,kind\n1,2,x\n", {}, "Column 2 of .* has no name"),
        ("a.csv", "a;kind\n1;x\n", {"sep": ","}, "only one column; are the .* separated by ';'\\?"),
        ("a.csv", "a\n1\n", {}, "has only one column\\."),
        ("a.csv", CSV, {"sep": "::"}, "must be a single character"),
        ("a.csv", CSV, {"decimal": ""}, "decimal mark must be a single character"),
        ("a.csv", CSV, {"sep": ",", "decimal": ","}, "must differ; both are ','"),
        ("a.csv", "a,kind\n1,x\n2,y,z\n", {}, "not a well-formed table.*line 3"),
        ("a.csv", "a,kind\n1,x,9\n2,y,9\n", {}, "Expected 2 fields in line 2, saw 3"),
        ("a.csv", "a,kind\n1,x\n2\n", {}, "1 missing .* in data row 2"),
        ("a.csv", "\xf6,kind\n1,x\n", {}, "cannot be read as utf-8 text .* Pass its encoding .*often latin-1"),
        ("a.xlsx", "", {}, r"a\.xlsx has an unknown extension; supported are \.csv"),
        ("a", "", {}, "unknown extension"),
        ("a.parquet", "no", {}, r"a\.parquet cannot be read: .*Parquet"),
        ("a.csv.gz", None, {}, r"a\.csv\.gz cannot be read: Compressed file ended"),
    ],
)
def test_bad_tables_get_a_sentence(write, name, text, options, sentence):
    if text is None:
        path = write(name, CSV * 50)
        path.write_bytes(path.read_bytes()[:-12])
    else:
        path = write(name, text, "latin-1")
    with pytest.raises(DatasetError, match=sentence):
        read_table(path, **{"target": "kind", **options})


@pytest.mark.parametrize(
    "text", ["a,a,kind\n1,2,x\n", "a,,kind\n1,2,x\n", "", "größe,kind\n1,x\n", "a,b\n1,2\n3,4,5\n"]
)
def test_readers_of_whole_files_and_of_blocks_refuse_alike(write, text):
    path = write("t.csv", text, "latin-1")
    with pytest.raises(DatasetError) as whole:
        read_table(path, "a")
    with pytest.raises(DatasetError) as blocks:
        list(TableStream(path, ["a"]))
    assert str(whole.value) == str(blocks.value)


def test_files_that_are_not_there_are_named(write, tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(FileNotFoundError, match=rf"There is no file {path}"):
            read_table(path, target="kind")
    with pytest.raises(FileNotFoundError, match=r"There is no file none\.xml"):
        read_table(write("a.csv", CSV), labels="none.xml")


def test_a_dataset_counts_its_labels():
    data = Dataset(pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"p": [0, 1], "q": [0, 0]}), "m", "", "a test")
    assert (data.task, data.n_classes, data.dense()) == ("multilabel", 2, data)


def test_features_become_plain_numbers_or_categories():
    frame = pd.DataFrame(
        {
            "whole": [1, 2],
            "real": [0.5, np.nan],
            "truth": [True, False],
            "text": ["b", None],
            "nullable": pd.array([1, None], dtype="Int64"),
            "full": pd.array([1, 2], dtype="Int64"),
        }
    )
    tidy = tidy_features(frame, "t")
    assert tidy.dtypes.astype(str).tolist() == ["int64", "float64", "int64", "category", "float64", "int64"]
    assert tidy["truth"].tolist() == [1, 0]
    assert tidy["text"].isna().tolist() == [False, True]
    for table in (frame, frame[["whole"]]):
        tidy = tidy_features(table, "t")
        tidy.iloc[0, 0] = 9
        assert table["whole"].tolist() == [1, 2], "features are a copy"
    for column, sentence in ((pd.to_datetime(["2020-01-01"]), "contains dates"), ([[1]], "contains nested values")):
        with pytest.raises(DatasetError, match=f"'when' of t {sentence}"):
            tidy_features(pd.DataFrame({"when": column}), "t")


def test_whole_floats_are_classes_and_fractions_are_not():
    assert class_names(pd.Series([1.0, 2.0]), "t").tolist() == [1, 2]
    assert class_names(pd.Series(pd.Categorical([2, 1])), "t").tolist() == [2, 1]
    with pytest.raises(DatasetError, match="'price' of t contains fractional numbers"):
        class_names(pd.Series([1.0, 2.5], name="price"), "t")
    with pytest.raises(DatasetError, match=r"'y' of t has 2 missing .* the first in data row 2"):
        class_names(pd.Series(["a", None, None], name="y"), "t")


def test_labels_are_coded():
    words = pd.Categorical(["FALSE", "TRUE"])
    frame = pd.DataFrame({"n": [0, 1], "f": [1.0, 0.0], "b": [True, False], "w": ["No", "yes"], "c": words})
    assert code_labels(frame, "t").to_numpy().T.tolist() == [[0, 1], [1, 0], [1, 0], [0, 1], [0, 1]]
    for bad in ([0, 2], ["1", "maybe"]):
        with pytest.raises(DatasetError, match=rf"'p' of t contains '{bad[1]}'"):
            code_labels(pd.DataFrame({"p": bad}), "t")


@pytest.mark.parametrize(
    ("n_samples", "n_classes", "numbers", "text"),
    [
        (10, 10, False, False),
        (11, 11, True, True),
        (54, 11, True, False),
        (55, 11, False, False),
        (21, 11, True, True),
        (22, 11, True, False),
        (5000, 50, False, False),
        (5000, 51, True, False),
    ],
)
def test_many_values_with_few_samples_each_are_doubted(n_samples, n_classes, numbers, text):
    values = pd.Series(np.arange(n_samples) % n_classes)
    assert (doubt_classes(values) is not None) == numbers
    assert (doubt_classes(values.map("c{}".format)) is not None) == text
