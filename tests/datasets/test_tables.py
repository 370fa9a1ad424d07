import gzip

import numpy as np
import pandas as pd
import pytest

from fuselearn.datasets import DatasetError, read_table

CSV = "weight,colour,kind\n1.5,red,apple\n?,None,pear\n3,red,apple\n"


@pytest.fixture
def write(tmp_path):
    def make(name, text):
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return make


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.CSV", "my.data.csv"])
def test_a_csv_file_with_one_class_per_row(write, name):
    dataset = read_table(write(name, CSV), target="kind")
    X, y = dataset
    assert X.dtypes.astype(str).to_dict() == {"weight": "float64", "colour": "category"}
    assert np.isnan(X["weight"][1])
    assert X["colour"].tolist() == ["red", "None", "red"]
    assert y.tolist() == ["apple", "pear", "apple"]
    assert dataset.name == name.split(".")[0]


def test_tabs_semicolons_and_byte_order_marks(write):
    tab = read_table(write("a.tsv", CSV.replace(",", "\t")), target="kind")
    semicolon = read_table(write("b.csv", "\ufeff" + CSV.replace(",", ";")), "kind", sep=";")
    assert list(tab.X) == list(semicolon.X) == ["weight", "colour"]


def test_the_column_class_is_the_default_target(write):
    X, y = read_table(write("a.csv", "class,a\nu,1\nv,2\n"))
    assert y.tolist() == ["u", "v"]
    assert list(X) == ["a"]


def test_missing_cells_can_be_chosen(write):
    path = write("a.csv", "country,n,kind\nNA,1,u\nDE,-,v\n")
    X, _ = read_table(path, "kind", missing=["-"])
    assert X["country"].tolist() == ["NA", "DE"]
    assert np.isnan(X["n"][1])


MULTILABEL = "x,label:p,label:q\n1,0,1\n2,1,1\n"


def test_label_columns_announce_themselves(write):
    X, Y = read_table(write("a.csv", MULTILABEL))
    assert list(X) == ["x"]
    assert Y.to_dict("list") == {"p": [0, 1], "q": [1, 1]}


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["p", "q_1"], ["p", "q_1"]),
        (2, ["p", "q_1"]),
        (-2, ["q_1", "q_2"]),
        ("q_", ["1", "2"]),
    ],
)
def test_labels_may_be_named_counted_or_share_a_prefix(write, labels, names):
    path = write("a.csv", "p,q_1,q_2\n1,0,1\n0,yes,0\n".replace("yes", "1"))
    assert list(read_table(path, labels=labels).y) == names


ARFF = "@relation '{relation}'\n@attribute x real\n@attribute p {{0,1}}\n@attribute q {{0,1}}\n@data\n1,0,1\n2,1,1\n"


@pytest.mark.parametrize(("count", "features"), [("-2", ["x"]), ("1", ["p", "q"])])
def test_meka_files_say_how_many_labels_come_first_or_last(write, count, features):
    text = ARFF.format(relation=f"r: -C {count}")
    if count == "1":
        text = text.replace("\n1,0,1\n2,1,1", "\n1,0,1\n0,1,1")
    X, Y = read_table(write("a.arff", text))
    assert list(X) == features
    assert Y.shape[1] == abs(int(count))


def test_mulan_files_have_a_label_file_beside_them(write, tmp_path):
    path = write("a.arff", ARFF.format(relation="r"))
    xml = write("a.xml", '<labels><label name="q"/><label name="p"/></labels>')
    assert list(read_table(path).y) == ["q", "p"]
    xml = xml.rename(tmp_path / "elsewhere.xml")
    for labels in (xml, str(xml)):
        assert list(read_table(path, labels=labels).y) == ["q", "p"]
    with pytest.raises(DatasetError, match="does not define a target"):
        read_table(path)


def test_a_target_in_an_arff_file_is_a_column_of_names(write):
    X, y = read_table(write("a.arff", ARFF.format(relation="r: -C 1")), target="q")
    assert list(X) == ["x", "p"]
    assert y.tolist() == ["1", "1"]


def test_an_xml_file_beside_a_csv_file_is_a_stranger(write):
    write("a.xml", "<other/>")
    assert read_table(write("a.csv", CSV), target="kind").task == "multiclass"


def test_parquet_files_are_read(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["u", "v"], "kind": ["x", "y"]})
    frame.to_parquet(tmp_path / "a.parquet")
    X, y = read_table(tmp_path / "a.parquet", target="kind")
    assert X.dtypes.astype(str).tolist() == ["float64", "category"]
    assert y.tolist() == ["x", "y"]
    (tmp_path / "b.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(DatasetError, match=r"b\.parquet is not a readable Parquet file"):
        read_table(tmp_path / "b.parquet", target="kind")


@pytest.mark.parametrize(
    ("name", "text", "options", "sentence"),
    [
        ("a.csv", CSV, {}, r"a\.csv does not define a target.*'weight', 'colour', 'kind'"),
        (
            "a.csv",
            CSV,
            {"target": "knd"},
            "no column 'knd' to use as the target; did you mean 'kind'",
        ),
        ("a.csv", CSV, {"labels": ["kid"]}, "no column 'kid' to use as a label"),
        ("a.csv", CSV, {"labels": []}, "labels is empty"),
        ("a.csv", CSV, {"labels": "tag_"}, "No column of .* starts with 'tag_'"),
        ("a.csv", CSV, {"labels": 3}, "3 columns, of which 3 cannot be labels"),
        ("a.csv", CSV, {"labels": ["kind"]}, "'kind' of .* holds 'apple'; a label must be 0 or 1"),
        ("a.csv", CSV, {"target": "kind", "labels": 1}, "either target .* or labels, not both"),
        ("a.csv", CSV, {"target": "kind", "encoding": "utf-9"}, "Unknown encoding 'utf-9'"),
        ("a.csv", "", {"target": "kind"}, r"a\.csv is empty"),
        ("a.csv", "a,kind\n", {"target": "kind"}, "has column names but no samples"),
        ("a.csv", "a,a,kind\n1,2,x\n", {"target": "kind"}, "has two columns named 'a'"),
        ("a.csv", "a,,kind\n1,2,x\n", {"target": "kind"}, "Column 2 of .* has no name"),
        ("a.csv", "a;kind\n1;x\n", {"target": "kind", "sep": ","}, "only one column; are the .* separated by ';'\\?"),
        ("a.csv", "a\n1\n", {"target": "kind"}, "has only one column\\."),
        ("a.csv", CSV, {"target": "kind", "sep": "::"}, "must be a single character"),
        ("a.csv", CSV, {"target": "kind", "decimal": ""}, "decimal mark must be a single character"),
        ("a.csv", CSV, {"target": "kind", "sep": ",", "decimal": ","}, "must differ; both are ','"),
        ("a.csv", "a,kind\n1,x\n2,y,z\n", {"target": "kind"}, "not a well-formed table.*line 3"),
        (
            "a.csv",
            "a,kind\n1,x,9\n2,y,9\n",
            {"target": "kind"},
            "Expected 2 fields in line 2, saw 3",
        ),
        ("a.csv", "a,kind\n1,x\n2\n", {"target": "kind"}, "1 missing .* in data row 2"),
        ("a.xlsx", "", {"target": "kind"}, r"a\.xlsx has an unknown extension; \.csv"),
        ("a", "", {"target": "kind"}, "unknown extension"),
    ],
)
def test_bad_tables_get_a_sentence(write, name, text, options, sentence):
    with pytest.raises(DatasetError, match=sentence):
        read_table(write(name, text), **options)


def test_files_that_are_not_there_are_named(write, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*none\.csv"):
        read_table(tmp_path / "none.csv", target="kind")
    with pytest.raises(FileNotFoundError, match=r"no label file none\.xml"):
        read_table(write("a.csv", CSV), labels="none.xml")


def test_another_encoding_is_asked_for(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe,kind\n1,x\n2,y\n".encode("latin-1"))
    with pytest.raises(DatasetError, match="cannot be read as utf-8 text"):
        read_table(path, target="kind")
    assert list(read_table(path, target="kind", encoding="latin-1").X) == ["größe"]


def test_a_truncated_gzip_file_is_named(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode() * 50)[:-12])
    with pytest.raises(DatasetError, match=r"a\.csv\.gz cannot be read"):
        read_table(path, target="kind")
