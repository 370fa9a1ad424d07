"""CSV files of every dialect are read, or refused with a sentence."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.datasets import DatasetError, read_table
from fuselearn.datasets.delimited import TextFormat, find_separator
from fuselearn.datasets.streaming import TableStream

TEXT = "größe,farbe,my kind\n1.5,rot,x\n-2.25,grün,y\n1000,rot,x\n"


@pytest.fixture
def write(tmp_path):
    def make(text, encoding="utf-8", name="t.csv"):
        path = tmp_path / name
        data = text.encode(encoding)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return make


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
    path = write(text, options.get("encoding", "utf-8"), name)
    X, y = read_table(path, "my kind", **options)
    assert X["größe"].tolist() == [1.5, -2.25, 1000.0]
    assert X["farbe"].tolist() == ["rot", "grün", "rot"]
    assert y.tolist() == ["x", "y", "x"]
    [block] = TableStream(path, ["größe"], ["farbe"], form=TextFormat(**options))
    assert block["größe"].tolist() == X["größe"].tolist()
    assert block["farbe"].tolist() == X["farbe"].tolist()


def test_cells_may_hold_line_ends_separators_and_quotes(write):
    path = write('"far\nbe",kind\n"light, ""very"" light\nblue",x\nred,y\n')
    X, _ = read_table(path, "kind")
    assert X["far\nbe"].tolist() == ['light, "very" light\nblue', "red"]


def test_a_first_column_without_a_name_is_that_of_an_index(write):
    X, _ = read_table(write(",a,kind\n0,5,x\n1,6,y\n"), "kind")
    assert X.columns.tolist() == ["Unnamed: 0", "a"]


def test_words_among_numbers_do_not_hide_their_decimal_mark(write):
    path = write("size;kind\n1,5;x\nunknown;y\n")
    assert read_table(path, "kind", decimal=",").X["size"].tolist() == ["1.5", "unknown"]
    [block] = TableStream(path, texts=["size"], form=TextFormat(decimal=","))
    assert block["size"].tolist() == ["1.5", "unknown"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,a,kind\n1,2,x\n", "two columns named 'a'"),
        ("a,,kind\n1,2,x\n", "Column 2 of .* has no name"),
        ("", "is empty"),
        ("größe,kind\n1,x\n".encode("latin-1").decode("latin-1"), "Pass its encoding .*often latin-1"),
    ],
)
def test_readers_of_whole_files_and_of_blocks_refuse_alike(write, text, sentence):
    path = write(text, "latin-1")
    with pytest.raises(DatasetError, match=sentence) as whole:
        read_table(path, "kind")
    with pytest.raises(DatasetError, match=sentence) as blocks:
        list(TableStream(path, ["a"]))
    assert str(whole.value) == str(blocks.value)


def test_a_decimal_comma_that_was_not_announced_is_asked_about(write):
    path = write("a;b\n1,5;2\n")
    with pytest.raises(DatasetError, match=r"holds '1,5' in line 2.* Is the comma the decimal mark\?"):
        list(TableStream(path, ["a", "b"]))


names = st.text('abcXYZ ,;|"', min_size=1, max_size=6).filter(lambda name: name.strip())


@settings(max_examples=50)
@given(st.lists(names, min_size=2, max_size=5, unique=True), st.sampled_from(",;\t|"))
def test_the_separator_is_found_in_the_first_lines(tmp_path_factory, header, mark):
    path = tmp_path_factory.mktemp("separators") / "t.csv"
    quoted = mark.join('"' + name.replace('"', '""') + '"' for name in header)
    path.write_text(f"{quoted}\n{mark.join('7' * len(header))}\n")
    assert find_separator(path, TextFormat()) == mark
