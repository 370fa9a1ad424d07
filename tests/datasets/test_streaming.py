"""Blocks of a file are the file."""

import pandas as pd
import pytest

from fuselearn.datasets import DatasetError, TableStream, Wanted

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
    stream = TableStream(path, Wanted(["c", "a"]), block_rows=4)
    blocks = list(stream)
    assert [len(block) for block in blocks] == [4, 4, 2]
    whole = pd.concat(blocks, ignore_index=True)
    pd.testing.assert_frame_equal(whole, TABLE[["c", "a"]].astype(float))
    assert stream.ignored == ["b"]


def test_arff_files_are_cut_into_blocks_too(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text("@relation t\n@attribute a numeric\n@attribute b {x,y}\n@data\n1,x\n2,y\n3,x\n")
    blocks = list(TableStream(path, Wanted(["a"], ["b"]), block_rows=2))
    assert [block["a"].tolist() for block in blocks] == [[1.0, 2.0], [3.0]]
    assert blocks[0]["b"].tolist() == ["x", "y"]


def test_columns_of_a_kind_that_is_not_known_are_numbers_where_they_can_be(tmp_path):
    path = tmp_path / "t.csv"
    TABLE.to_csv(path, index=False)
    block = next(iter(TableStream(path, Wanted(others=["a", "b"]))))
    assert block["a"].dtype.kind == "i"
    assert block["b"].isna().sum() == 1


def test_missing_columns_are_named(path):
    with pytest.raises(DatasetError, match="lacks the columns"):
        TableStream(path, Wanted(["a", "d", "e"]))


def test_a_cell_that_is_no_number_is_named_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,four\n")
    with pytest.raises(DatasetError, match=r"column 'b' holds 'four' in line 3, where the model expects a number"):
        list(TableStream(path, Wanted(["a", "b"])))


def test_a_line_with_too_many_cells_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4,5\n")
    with pytest.raises(DatasetError, match="not a well-formed table: Expected 2 fields in line 3, saw 3"):
        list(TableStream(path, Wanted(["a", "b"])))
    path.write_text("a,b\n1,2,3\n3,4,5\n")
    with pytest.raises(DatasetError, match="not a well-formed table: Expected 2 fields in line 2, saw 3"):
        list(TableStream(path, Wanted(["a", "b"])))


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError, match=r"There is no file nowhere\.csv"):
        TableStream("nowhere.csv", Wanted(["a"]))


@pytest.fixture
def sparse_arff(tmp_path):
    path = tmp_path / "s.arff"
    names = "".join(f"@attribute w{place} numeric\n" for place in range(5))
    path.write_text(f"@relation r\n{names}@attribute id string\n@data\n{{0 1, 5 a}}\n{{3 2.5, 5 b}}\n{{5 c}}\n")
    return path


def test_sparse_samples_stay_sparse_if_the_model_takes_them(sparse_arff):
    stream = TableStream(sparse_arff, Wanted(["w3", "w0"], sparse=True), block_rows=2)
    blocks = list(stream)
    assert [block.toarray().tolist() for block in blocks] == [[[0, 1], [2.5, 0]], [[0, 0]]]
    assert stream.ignored == ["w1", "w2", "w4", "id"]
    frames = list(TableStream(sparse_arff, Wanted(["w3", "w0"]), block_rows=2))
    assert [frame.to_numpy().tolist() for frame in frames] == [block.toarray().tolist() for block in blocks]


def test_the_index_names_the_samples_of_every_format(path, sparse_arff):
    [block] = TableStream(path, Wanted(["a"], index="b"))
    assert block.index.name == "b"
    assert block.index.tolist()[:2] == ["x", "y"]
    [block] = TableStream(sparse_arff, Wanted(["w3"], index="id", sparse=True))
    assert block.index.tolist() == ["a", "b", "c"]
    with pytest.raises(DatasetError, match="no column 'z' to use as the index"):
        TableStream(path, Wanted(["a"], index="z"))


def test_a_file_without_samples_is_a_block_without_samples(tmp_path):
    TABLE.iloc[:0].to_csv(tmp_path / "t.csv", index=False)
    TABLE.iloc[:0].to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.arff").write_text("@relation t\n@attribute a numeric\n@attribute b string\n@data\n")
    for name in ("t.csv", "t.parquet", "t.arff"):
        [block] = TableStream(tmp_path / name, Wanted(["a"], ["b"], index="b"))
        assert block.shape == (0, 2)
        assert block["a"].dtype == float
