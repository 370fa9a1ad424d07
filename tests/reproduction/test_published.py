import pandas as pd
import pytest

from fuselearn.lab.published import PUBLISHED, load_published


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_table_loads_without_holes(name):
    table = load_published(name)
    assert len(table) > 0
    assert not table.isna().any().any()


def test_kfhe_scores_are_complete_and_tidy():
    scores = load_published("kfhe_scores")
    assert list(scores.columns) == ["dataset", "noise", "method", "score", "rank"]
    assert set(scores["noise"]) == {0.0, 0.05, 0.1, 0.15, 0.2}
    counts = scores.groupby(["noise", "method"])["dataset"].nunique()
    assert counts.to_list() == [20] * 20


def test_kfhe_homer_scores_are_complete_and_tidy():
    scores = load_published("kfhe_homer_scores")
    assert list(scores.columns[:4]) == ["dataset", "noise", "method", "score"]
    assert pd.crosstab(scores["dataset"], scores["method"]).to_numpy().tolist() == [[1] * 8] * 10


def test_p_values_keep_the_printed_digits():
    assert "<0.01" in set(load_published("kfhe_p_values")["p_value"])
    assert "1.0000" in set(load_published("kfhe_homer_p_values")["p_value"])


def test_an_unknown_name_is_refused_with_the_names_that_exist():
    with pytest.raises(ValueError, match=r"name must be one of kfhe_datasets, .*; got 'table_9'"):
        load_published("table_9")
