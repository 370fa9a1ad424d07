import re

import numpy as np
import pandas as pd
import pytest

from fuselearn.datasets import DatasetError
from fuselearn.datasets.openml import swap_target_of_flags
from fuselearn.datasets.recognition import tidy_features
from fuselearn.datasets.targets import class_names, code_labels, doubt_classes


def test_features_become_numbers_or_categories():
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
    assert tidy.dtypes.astype(str).tolist() == [
        "int64",
        "float64",
        "int64",
        "category",
        "float64",
        "int64",
    ]
    assert tidy["truth"].tolist() == [1, 0]
    assert tidy["text"].isna().tolist() == [False, True]
    assert np.isnan(tidy["nullable"][1])


def test_features_are_a_copy():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    tidy = tidy_features(frame, "t")
    tidy.iloc[0, 0] = 9
    assert frame["a"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "'when' of t holds dates"),
        ([[1], [2]], "'when' of t holds nested values"),
    ],
)
def test_unusable_features_are_named(column, sentence):
    with pytest.raises(DatasetError, match=sentence):
        tidy_features(pd.DataFrame({"when": column}), "t")


def test_whole_floats_are_classes_and_fractions_are_not():
    assert class_names(pd.Series([1.0, 2.0]), "t").tolist() == [1, 2]
    with pytest.raises(DatasetError, match="'price' of t holds fractional numbers"):
        class_names(pd.Series([1.0, 2.5], name="price"), "t")


def test_a_missing_class_is_named_with_its_row():
    with pytest.raises(DatasetError, match=r"'y' of t has 2 missing .* the first in data row 2"):
        class_names(pd.Series(["a", None, None], name="y"), "t")


def test_labels_are_coded():
    frame = pd.DataFrame(
        {
            "n": [0, 1],
            "f": [1.0, 0.0],
            "b": [True, False],
            "w": ["No", "yes"],
            "c": pd.Categorical(["FALSE", "TRUE"]),
        }
    )
    assert code_labels(frame, "t").to_numpy().T.tolist() == [[0, 1], [1, 0], [1, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize("bad", [[0, 2], ["1", "maybe"]])
def test_a_label_that_is_not_0_or_1_is_named(bad):
    with pytest.raises(DatasetError, match=rf"'p' of t holds '{bad[1]}'"):
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


