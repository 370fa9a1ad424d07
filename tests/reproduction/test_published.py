"""The statistics give the numbers that the papers print."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal, assert_series_equal

from fuselearn.lab.figures import _indistinct_groups
from fuselearn.lab.statistics import (
    aligned_posthoc,
    aligned_test,
    average_ranks,
    finner,
    friedman_posthoc,
    win_tie_loss,
)
from reproduction.published import PUBLISHED, load_published

NOISE = [0.0, 0.05, 0.1, 0.15, 0.2]
BASELINES = ["AdaBoost", "Bagging", "CART"]


def kfhe_scores(noise, values="score"):
    level = load_published("kfhe_scores").query("noise == @noise")
    return level.pivot(index="dataset", columns="method", values=values)[["KFHE", *BASELINES]]


def homer_scores(values="score"):
    published = load_published("kfhe_homer_scores")
    return published.pivot(index="dataset", columns="method", values=values)[published["method"].unique()]


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


def as_the_paper_prints(p):
    """Format a p-value like Table 7 of the KFHE paper: two digits, or the bound it falls under."""
    if p < 0.01:
        return "<0.01"
    return "<0.05" if p < 0.05 else f"{p:.2f}"


def printed_table_7(noise):
    table = load_published("kfhe_p_values")
    return table[table["noise"] == noise].set_index("versus")["p_value"].loc[BASELINES].to_list()


@pytest.mark.parametrize(
    ("noise", "adaboost", "bagging"),
    [
        (0.0, 0.6534, 0.0008),
        (0.05, 0.1344, 0.0272),
        (0.1, 0.0002, 0.1857),
        (0.15, 0.0000, 0.3172),
        (0.2, 0.0000, 0.3950),
    ],
)
def test_table_7_of_the_kfhe_paper(noise, adaboost, bagging):
    """The authors' R package compares floating point numbers as they are, so do we here."""
    result = aligned_posthoc(kfhe_scores(noise), control="KFHE", tie_tolerance=0)
    p = result.pairs.set_index("versus")["p_value"]
    assert p["AdaBoost"] == pytest.approx(adaboost, abs=5e-5)
    assert p["Bagging"] == pytest.approx(bagging, abs=5e-5)
    assert p["CART"] <= 0.0019 + 5e-5

    ours = [as_the_paper_prints(p[baseline]) for baseline in BASELINES]
    expected = printed_table_7(noise)
    if noise == 0.15:
        # Printed 0.31; the printed means give 0.3172, or 0.3139 if CART on breastcancer and KFHE
        # on vertebral, whose aligned scores tie in four digits, are ordered the other way.
        assert expected[1] == "0.31"
        expected[1] = "0.32"
    assert ours == expected


@pytest.mark.parametrize("noise", NOISE)
def test_table_7_comes_out_of_means_that_print_as_published(noise):
    """The authors' unrounded means had no ties; some such means give all printed p-values."""
    scores = kfhe_scores(noise)
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(40):
        unrounded = scores + rng.uniform(-4.9e-5, 4.9e-5, scores.shape)
        assert (unrounded.round(4) == scores).all(axis=None)
        result = aligned_posthoc(unrounded, control="KFHE")
        found.add(tuple(as_the_paper_prints(p) for p in result.pairs["p_value"]))
    assert tuple(printed_table_7(noise)) in found


@pytest.mark.parametrize(
    ("noise", "p_value"),
    [(0.0, "4e-07"), (0.05, "5e-04"), (0.1, "6e-05"), (0.15, "3e-05"), (0.2, "2e-06")],
)
def test_the_kfhe_paper_finds_that_methods_differ(noise, p_value):
    test = aligned_test(kfhe_scores(noise))
    assert f"{test.p_value:.0e}" == p_value


@pytest.mark.parametrize("pair", list(load_published("kfhe_homer_p_values").itertuples()))
def test_table_4_of_the_kfhe_homer_paper(pair):
    result = friedman_posthoc(homer_scores())
    assert len(result.pairs) == 28
    assert f"{result.p_corrected(pair.method, pair.versus):.4f}" == pair.p_value


def test_table_4_of_the_kfhe_homer_paper_is_not_made_of_aligned_ranks():
    """The text says aligned ranks; they would leave E-HOMER at 0.685 instead of 0.2384."""
    result = aligned_posthoc(homer_scores())
    assert result.p_corrected("E-HOMER", "KFHE-HOMER") == pytest.approx(0.685, abs=5e-4)
    assert result.p_corrected("HOMER-B", "KFHE-HOMER") == pytest.approx(0.079, abs=5e-4)


def test_a_control_needs_fewer_corrections_than_all_pairs():
    scores = kfhe_scores(0.05)
    control = aligned_posthoc(scores, control="KFHE")
    assert_allclose(control.pairs["p_corrected"], finner(control.pairs["p_value"]))
    assert len(control.pairs) == 3
    assert f"{control.p_corrected('KFHE', 'AdaBoost'):.2f}" == "0.13"
    all_pairs = aligned_posthoc(scores)
    assert len(all_pairs.pairs) == 6
    assert f"{all_pairs.p_corrected('KFHE', 'AdaBoost'):.2f}" == "0.16"


def test_groups_of_the_kfhe_homer_paper():
    groups = _indistinct_groups(friedman_posthoc(homer_scores()), 0.05)
    assert groups == [
        ("KFHE-HOMER", "ECC"),
        ("E-HOMER", "HOMER-B"),
        ("ECC", "HOMER-K"),
        ("HOMER-B", "AdaBoost.MH"),
    ]


@pytest.mark.parametrize("noise", NOISE)
def test_ranks_of_the_kfhe_paper(noise):
    scores = kfhe_scores(noise)
    assert_frame_equal(scores.rank(axis=1, ascending=False), kfhe_scores(noise, "rank"))
    averages = load_published("kfhe_average_ranks")
    averages = averages[averages["noise"] == noise].set_index("method")["average_rank"]
    assert_series_equal(average_ranks(scores), averages, check_names=False, check_like=True)


def test_ranks_of_the_kfhe_homer_paper():
    scores = homer_scores()
    assert_frame_equal(scores.rank(axis=1, ascending=False), homer_scores("rank").astype(float))
    averages = load_published("kfhe_homer_average_ranks").set_index("method")["average_rank"]
    assert_series_equal(average_ranks(scores), averages, check_names=False, check_like=True)


def test_wins_of_the_kfhe_homer_paper():
    counts = win_tie_loss(homer_scores())
    published = load_published("kfhe_homer_wins")
    assert len(published) == 28
    for pair in published.itertuples():
        assert counts.loc[(pair.method, pair.versus)].to_list() == [pair.wins, pair.ties, pair.losses]
