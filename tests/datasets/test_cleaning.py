"""What a column holds is told from its cells, and new samples are treated like those that a cleaner was fitted on."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import fuselearn
from fuselearn import CARTClassifier
from fuselearn.datasets import DatasetError, TableCleaner
from fuselearn.datasets.cleaning import SparseColumns
from fuselearn.multilabel import BinaryRelevanceClassifier

N = 60
RAW = pd.DataFrame(
    {
        "id": [f"C{i}" for i in range(N)],
        "since": pd.date_range("2020-01-01", periods=N).strftime("%d.%m.%Y"),
        "age": [str(20 + i) if i % 20 else "unknown" for i in range(N)],
        "size": np.arange(N) / 2,
        "plan": ["basic", "plus", None] * (N // 3),
        "paid": [True, False] * (N // 2),
        "note": [f"said {i} words" for i in range(N)],
    }
)


def test_columns_become_numbers_and_categories():
    clean = TableCleaner().fit_transform(RAW)
    assert clean.dtypes.astype(str).to_dict() == {
        "since": "float64", "age": "float64", "size": "float64", "plan": "category", "paid": "float64",
    }  # fmt: skip
    assert clean["since"].tolist() == list(range(18262, 18262 + N))
    assert np.flatnonzero(clean["age"].isna()).tolist() == [0, 20, 40]
    assert clean["age"][1] == 21
    assert clean["paid"].tolist()[:2] == [1, 0]
    assert clean["plan"].isna().sum() == N // 3


def test_new_samples_need_only_the_columns_that_are_used():
    cleaner = TableCleaner().fit(RAW)
    new = pd.DataFrame(
        {"paid": ["False"], "extra": [1], "plan": ["plus"], "since": ["1.1.1970"], "age": ["UNKNOWN"], "size": ["7"]}
    )
    clean = cleaner.transform(new)
    assert clean.columns.tolist() == cleaner.feature_names_in_.tolist() == ["since", "age", "size", "plan", "paid"]
    assert clean.iloc[0].tolist()[::2] == [0.0, 7.0, 0.0]
    assert np.isnan(clean["age"][0])


@pytest.mark.parametrize(
    ("name", "cell", "sentence"),
    [
        ("since", "soon", "'since' contains 'soon', where the model expects a date such as '01.01.2020'"),
        ("since", "2020-01-01", "'since' contains '2020-01-01'"),
        ("age", "old", "'age' contains 'old', where the model expects a number"),
        ("size", "large", "'size' contains 'large'"),
        ("paid", "perhaps", "'paid' contains 'perhaps', where the model expects either true or false"),
    ],
)
def test_cells_that_are_not_what_they_were_are_named(name, cell, sentence):
    new = RAW.astype(object)
    new.loc[3, name] = cell
    with pytest.raises(DatasetError, match=sentence):
        TableCleaner().fit(RAW).transform(new)


def test_tables_that_do_not_fit_are_refused():
    cleaner = TableCleaner().fit(RAW)
    with pytest.raises(DatasetError, match="X has no columns 'size', 'paid'"):
        cleaner.transform(RAW.drop(columns=["size", "paid"]))
    with pytest.raises(TypeError, match="X must be a DataFrame"):
        cleaner.transform(np.ones((2, 3)))
    with pytest.raises(DatasetError, match="two columns named 'a'"):
        TableCleaner().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_columns_can_be_chosen():
    def used(**options):
        return TableCleaner(**options).fit(RAW).feature_names_in_.tolist()

    assert used(drop=["since", "age"]) == ["size", "plan", "paid"]
    assert used(only=["note", "size"]) == ["size", "note"]
    assert used(keep=["id"])[0] == "id"
    for option in ("drop", "only", "keep"):
        with pytest.raises(DatasetError, match=r"has no column 'agee' to .*; did you mean 'age'"):
            TableCleaner(**{option: ["agee"]}).fit(RAW)
    with pytest.raises(DatasetError, match="no features left"):
        TableCleaner(drop=list(RAW)).fit(RAW)
    with pytest.raises(DatasetError, match="No column looks like a feature"):
        TableCleaner(drop=["since", "age", "size", "plan", "paid"]).fit(RAW)


def test_tables_of_plain_columns_need_no_cleaner():
    assert TableCleaner().fit(RAW[["size", "plan"]]).is_idle
    for names in (["size", "id"], ["size", "since"], ["size", "age"], ["size", "paid"]):
        assert not TableCleaner().fit(RAW[names]).is_idle
    assert not TableCleaner(drop=["plan"]).fit(RAW[["size", "plan"]]).is_idle


def test_polars_frames_are_taken():
    expected = TableCleaner().fit_transform(RAW)
    cleaner = TableCleaner()
    columns = {name: [None if cell != cell else cell for cell in RAW[name]] for name in RAW}
    clean = cleaner.fit_transform(pl.DataFrame(columns))
    pd.testing.assert_frame_equal(clean, expected, check_dtype=False, check_categorical=False)


def test_codes_are_the_same_categories_as_text_and_as_numbers():
    coded = pd.DataFrame({"code": pd.Categorical([1, 2, 3] * 9), "x": range(27)})
    cleaner = TableCleaner().fit(coded)
    for cells in (["2"], [2], [2.0]):
        assert cleaner.transform(pd.DataFrame({"code": cells, "x": [1]}))["code"].tolist() == ["2"]


@settings(max_examples=30)
@given(
    st.lists(
        st.one_of(st.none(), st.text(max_size=4), st.booleans(), st.integers(), st.floats()), min_size=1, max_size=30
    )
)
def test_any_column_is_cleaned_alike_or_refused(cells):
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": range(len(cells))})
    cleaner = TableCleaner(keep=["x"])
    try:
        clean = cleaner.fit_transform(frame)
    except DatasetError:
        return
    assert clean.shape == frame.shape
    pd.testing.assert_frame_equal(cleaner.transform(frame), clean)
    if len(cells) > 1:
        half = cleaner.transform(frame.iloc[: len(cells) // 2])
        values = clean.iloc[: len(cells) // 2]
        pd.testing.assert_frame_equal(half.astype(object), values.astype(object), check_dtype=False)


def test_cleaners_are_cloned_pickled_and_saved(tmp_path):
    y = np.where(RAW["size"] > 10, "large", "small")
    model = make_pipeline(clone(TableCleaner(drop=["plan"])), CARTClassifier()).fit(RAW, y)
    fuselearn.save(model, tmp_path / "m.fuse")
    for same in (pickle.loads(pickle.dumps(model)), fuselearn.load(tmp_path / "m.fuse")):
        assert same[0].drop == ["plan"]
        assert same[0].columns_ == model[0].columns_
        np.testing.assert_array_equal(same.predict(RAW), model.predict(RAW))
        np.testing.assert_array_equal(same.predict(RAW.drop(columns=["id", "note", "plan"])), model.predict(RAW))


FRAME = pd.DataFrame({"c": [0, 0, 9], "a": [1.0, 0, 2], "b": [0, 3, 0]})


def test_sparse_columns_read_frames_by_name_and_matrices_by_place():
    columns = clone(SparseColumns(["b", "a"]))
    expected = [[0, 1], [3, 0], [0, 2]]
    for given_X in (FRAME, *(form(np.array(expected)) for form in (sparse.csr_array, sparse.csc_matrix, np.array))):
        found = columns.fit_transform(given_X)
        assert found.format == "csr"
        assert found.toarray().tolist() == expected
    with pytest.raises(DatasetError, match="X has no columns 'd'"):
        SparseColumns(["a", "d"]).transform(FRAME)
    with pytest.raises(DatasetError, match="X has 3 features; the model was trained on 2"):
        columns.transform(sparse.csr_array(np.eye(3)))


def test_a_saved_pipeline_finds_sparse_features_by_name(tmp_path):
    X = sparse.random_array((60, 3), density=0.4, random_state=np.random.default_rng(0), format="csr")
    Y = (X[:, [0, 1]].toarray() > 0).astype(int)
    model = make_pipeline(SparseColumns(["a", "b", "c"]), BinaryRelevanceClassifier(random_state=0)).fit(X, Y)
    fuselearn.save(model, tmp_path / "m.fuse")
    frame = pd.DataFrame(X.toarray(), columns=["a", "b", "c"])[["c", "b", "a"]]
    np.testing.assert_array_equal(fuselearn.load(tmp_path / "m.fuse").predict(frame), model.predict(X))
