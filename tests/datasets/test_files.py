"""Blocks of a file are the file."""

import gzip
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuselearn.datasets import DatasetError
from fuselearn.datasets.files import BEFORE_PANDAS_3_1, TableStream

TABLE = pd.DataFrame({"a": range(10), "b": list("xyxyxyxyx?"), "c": [0.5] * 10})


@pytest.fixture(params=["csv", "csv.gz", "parquet", "tsv"])
def path(request, tmp_path):
    path = tmp_path / f"table.{request.param}"
    if request.param == "parquet":
        TABLE.to_parquet(path)
    else:
        TABLE.to_csv(path, index=False, sep="\t" if request.param == "tsv" else ",")
    return path


def test_blocks_hold_every_row_once_in_order(path):
    stream = TableStream(path, ["c", "a"], block_rows=4)
    blocks = list(stream)
    assert [len(block) for block in blocks] == [4, 4, 2]
    whole = pd.concat(blocks, ignore_index=True)
    pd.testing.assert_frame_equal(whole, TABLE[["c", "a"]].astype(float))
    assert stream.ignored == ["b"]


def test_arff_files_are_cut_into_blocks_too(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text("@relation t\n@attribute a numeric\n@attribute b {x,y}\n@data\n1,x\n2,y\n3,x\n")
    blocks = list(TableStream(path, ["a"], ["b"], block_rows=2))
    assert [block["a"].tolist() for block in blocks] == [[1.0, 2.0], [3.0]]
    assert blocks[0]["b"].tolist() == ["x", "y"]


def test_columns_of_a_kind_that_is_not_known_are_numbers_where_they_can_be(tmp_path):
    path = tmp_path / "t.csv"
    TABLE.to_csv(path, index=False)
    block = next(iter(TableStream(path, others=["a", "b"])))
    assert block["a"].dtype.kind == "i"
    assert block["b"].isna().sum() == 1


def test_missing_columns_and_files_are_named(path):
    with pytest.raises(DatasetError, match="has no columns 'd', 'e', which the model was trained on"):
        TableStream(path, ["a", "d", "e"])
    with pytest.raises(DatasetError, match="no column 'z' to use as the index"):
        TableStream(path, ["a"], index=["z"])
    with pytest.raises(FileNotFoundError, match=r"There is no file nowhere\.csv"):
        TableStream("nowhere.csv", ["a"])


def test_a_cell_that_is_no_number_is_named_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,four\n")
    with pytest.raises(DatasetError, match=r"column 'b' contains 'four' in line 3, where the model expects a number"):
        list(TableStream(path, ["a", "b"]))
    path.write_text("a;b\n1,5;2\n")
    with pytest.raises(DatasetError, match=r"contains '1,5' in line 2.* Is the comma the decimal mark\?"):
        list(TableStream(path, ["a", "b"]))
    pd.DataFrame({"a": ["one"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DatasetError, match="column 'a' contains a cell that is not a number"):
        list(TableStream(tmp_path / "t.parquet", ["a"]))


@pytest.mark.filterwarnings("ignore:The .float_precision.")
@pytest.mark.parametrize("before_3_1", [True] if BEFORE_PANDAS_3_1 else [False, True])
@pytest.mark.parametrize(("text", "line"), [("a,b\n1,2\n3,4,5\n", 3), ("a,b\n1,2,3\n3,4,5\n", 2)])
def test_a_line_with_too_many_cells_is_refused(tmp_path, monkeypatch, before_3_1, text, line):
    monkeypatch.setattr("fuselearn.datasets.files.BEFORE_PANDAS_3_1", before_3_1)
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DatasetError, match=f"not a well-formed table: Expected 2 fields in line {line}, saw 3"):
        list(TableStream(tmp_path / "t.csv", ["a", "b"], block_rows=1))


@pytest.fixture
def sparse_arff(tmp_path):
    path = tmp_path / "s.arff"
    names = "".join(f"@attribute w{place} numeric\n" for place in range(5))
    path.write_text(f"@relation r\n{names}@attribute id string\n@data\n{{0 1, 5 a}}\n{{3 2.5, 5 b}}\n{{5 c}}\n")
    return path


def test_sparse_samples_stay_sparse_if_the_model_takes_them(sparse_arff):
    stream = TableStream(sparse_arff, ["w3", "w0"], as_matrix=True, block_rows=2)
    blocks = list(stream)
    assert [block.toarray().tolist() for block in blocks] == [[[0, 1], [2.5, 0]], [[0, 0]]]
    assert stream.ignored == ["w1", "w2", "w4", "id"]
    frames = list(TableStream(sparse_arff, ["w3", "w0"], block_rows=2))
    assert [frame.to_numpy().tolist() for frame in frames] == [block.toarray().tolist() for block in blocks]


def test_the_index_names_the_samples_of_every_format(path, sparse_arff):
    [block] = TableStream(path, ["a"], index=["b"])
    assert block.index.name == "b"
    assert block.index.tolist()[:2] == ["x", "y"]
    [block] = TableStream(sparse_arff, ["w3"], index=["id"], as_matrix=True)
    assert block.index.tolist() == ["a", "b", "c"]


def test_a_file_without_samples_is_a_block_without_samples(tmp_path):
    TABLE.iloc[:0].to_csv(tmp_path / "t.csv", index=False)
    TABLE.iloc[:0].to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.arff").write_text("@relation t\n@attribute a numeric\n@attribute b string\n@data\n")
    for name in ("t.csv", "t.parquet", "t.arff"):
        [block] = TableStream(tmp_path / name, ["a"], ["b"], index=["b"])
        assert block.shape == (0, 2)
        assert block["a"].dtype == float


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr), st.sampled_from(["", "NA", "?", "7", "-3e2"])
)
quoted = st.text('a"\n\r,é ', max_size=5).map(lambda text: '"' + text.replace('"', '""') + '"')
odd = st.one_of(st.sampled_from(["inf", " 7", "+7", "x", '"', '5" pipe', "\ufeff", "\u2028"]), st.text(max_size=3))
ends = st.sampled_from(["\n"] * 20 + ["\r\n"] * 5 + ["\n\n", "\r", ""])


def lines(cells, least=2, most=2):
    cells = st.lists(cells, min_size=least, max_size=most)
    return st.builds(lambda cells, end: ",".join(cells) + end, cells, ends)


headers = st.sampled_from(["a,b\n"] * 5 + ["a,b\r\n", "\ufeffa,b\n", "\na,b\n", '"a",b\n', "a, b\n", "a,b\r"])
plain_lines = st.one_of(lines(numbers), st.builds("{},{}\n".format, numbers, quoted))
any_line = st.one_of(plain_lines, plain_lines, lines(st.one_of(numbers, quoted, odd), 1, 3))
texts = st.one_of(
    *(st.lists(line, min_size=3, max_size=20).map("".join) for line in (lines(numbers), plain_lines, any_line))
)
chosen = st.sampled_from([["a", "b"], ["b", "a"], ["b"], ["a"]])


def read(path, wanted, block_rows=3):
    """Read all samples of a file, or return the sentence that says why there are none."""
    try:
        blocks = list(TableStream(path, wanted, block_rows=block_rows))
    except DatasetError as error:
        return str(error)
    assert all(len(block) <= block_rows for block in blocks)
    return pd.concat(blocks, ignore_index=True)


@pytest.fixture(scope="module")
def any_path(tmp_path_factory):
    return tmp_path_factory.mktemp("streaming") / "table.csv"


@settings(max_examples=40)
@given(headers, texts, chosen, st.sampled_from([1, 2, 3, 7]))
@example("a,b\n", '1,"x\ny"\n2,z\n', ["a"], 2)
@example("a,b\n", "1,2\n3,4\n5,6,7\n", ["a", "b"], 2)
@example("a,b\n", "1,2\n3,4\n\ufeff5,6\n7,8\n", ["a"], 2)
@example("a,b\n", "1,2\n3,x\n", ["a", "b"], 2)
@example("a,b\n", "\n" * 20, ["a", "b"], 2)
def test_any_text_gives_the_samples_of_the_whole_file_or_an_error(any_path, header, rows, wanted, block_rows):
    any_path.write_text(header + rows, encoding="utf-8", errors="ignore", newline="")
    expected, found = read(any_path, wanted, 10**6), read(any_path, wanted, block_rows)
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
    else:  # of several mistakes, the one that is met first
        assert isinstance(found, str)


digits = st.text("0123456789", min_size=1, max_size=22)
decimals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(".{}".format)),
    st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["e", "E", "e+", "e-"]), st.integers(0, 290))),
)


@settings(max_examples=30)
@given(st.lists(decimals, min_size=1, max_size=30))
@example(["9007199254740993", "9007199254740992.5", "1e23", "8.5e22", "2.2250738585072011e-308", "5e-324", "-0.0"])
@example(["18446744073709551616", "0.1000000000000000055511151231257827021181583404541015625", "1" * 40])
def test_every_decimal_becomes_the_nearest_float(any_path, cells):
    any_path.write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    found = read(any_path, ["a"])["a"].to_numpy()
    assert found.view(np.uint64).tolist() == np.array([float(cell) for cell in cells]).view(np.uint64).tolist()


@pytest.fixture
def many_samples(tmp_path):
    """Write a file of 3,000 samples and return its values, too."""
    values = np.random.default_rng(0).normal(size=(3000, 2))
    pd.DataFrame(values, columns=["a", "b"]).to_csv(tmp_path / "many.csv", index=False)
    return tmp_path / "many.csv", values


def test_gzipped_files_are_unpacked_block_by_block(many_samples, tmp_path):
    path, values = many_samples
    packed = tmp_path / "many.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(read(packed, ["a", "b"], 500), values)


def test_memory_is_bounded_by_the_blocks_not_by_the_file(tmp_path):
    n_samples, line = 200_000, "0.125,0.5\n"
    (tmp_path / "long.csv").write_text("a,b\n" + line * n_samples)
    tracemalloc.start()
    for block in TableStream(tmp_path / "long.csv", ["a", "b"], block_rows=1000):
        assert len(block) == 1000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < len(line) * n_samples / 2


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1.5,wide", "column 'b' contains 'wide' in line 2503, where the model expects a number"),
        ("1.5,2.5,3.5", "Expected 2 fields in line 2503, saw 3"),
    ],
)
def test_samples_before_a_mistake_are_read_once_and_its_line_is_named(many_samples, line, sentence):
    path, values = many_samples
    lines = path.read_text().splitlines()
    lines[2502] = line
    path.write_text("\n".join(lines))
    blocks = []
    with pytest.raises(DatasetError, match=sentence):
        blocks.extend(TableStream(path, ["a", "b"], block_rows=100))
    found = pd.concat(blocks).to_numpy()
    assert len(found) > 2000
    np.testing.assert_array_equal(found, values[: len(found)])
