import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

from fuselearn.lab.published import load_published
from fuselearn.lab.statistics.rank_tests import (
    aligned_posthoc,
    aligned_test,
    finner,
    friedman_posthoc,
    friedman_test,
    indistinct_groups,
)
from fuselearn.lab.statistics.ranks import score_table

NOISE = [0.0, 0.05, 0.1, 0.15, 0.2]
RIVALS = ["AdaBoost", "Bagging", "CART"]

whole_tables = st.tuples(st.integers(2, 7), st.integers(3, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 20))
)
probabilities = arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1))


def kfhe_scores(noise):
    return score_table(load_published("kfhe_scores"), noise=noise)


def homer_scores():
    return score_table(load_published("kfhe_homer_scores"))


def as_the_paper_prints(p):
    """Format a p-value like Table 7 of the KFHE paper: two digits, or the bound it falls under."""
    if p < 0.01:
        return "<0.01"
    return "<0.05" if p < 0.05 else f"{p:.2f}"


def printed_table_7(noise):
    table = load_published("kfhe_p_values")
    return table[table["noise"] == noise].set_index("versus")["p_value"].loc[RIVALS].to_list()


# The papers' tables


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
    result = aligned_posthoc(kfhe_scores(noise), control="KFHE", correction=None, tie_tolerance=0)
    p = result.pairs.set_index("versus")["p_value"]
    assert p["AdaBoost"] == pytest.approx(adaboost, abs=5e-5)
    assert p["Bagging"] == pytest.approx(bagging, abs=5e-5)
    assert p["CART"] <= 0.0019 + 5e-5

    ours = [as_the_paper_prints(p[rival]) for rival in RIVALS]
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
        result = aligned_posthoc(unrounded, control="KFHE", correction=None)
        found.add(tuple(as_the_paper_prints(p) for p in result.pairs["p_value"]))
    assert tuple(printed_table_7(noise)) in found


@pytest.mark.parametrize(
    ("noise", "p_value"),
    [(0.0, "4e-07"), (0.05, "5e-04"), (0.1, "6e-05"), (0.15, "3e-05"), (0.2, "2e-06")],
)
def test_the_kfhe_paper_finds_that_methods_differ(noise, p_value):
    test = aligned_test(kfhe_scores(noise))
    assert f"{test.p_value:.0e}" == p_value
    assert test.degrees_of_freedom == 3


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


# Examples by hand


def scores_from_ranks(ranks):
    return -np.asarray(ranks, dtype=float)


def test_friedman_by_hand():
    # Mean ranks 1.25, 2 and 2.75: 12 * 4 / (3 * 4) * (13.125 - 3 * 16 / 4) = 4.5.
    test = friedman_test(scores_from_ranks([[1, 2, 3], [1, 3, 2], [2, 1, 3], [1, 2, 3]]))
    assert test.statistic == pytest.approx(4.5)
    assert test.p_value == pytest.approx(math.exp(-4.5 / 2))
    assert test.degrees_of_freedom == 2
    assert test.mean_ranks.to_list() == [1.25, 2, 2.75]


def test_friedman_posthoc_by_hand():
    # The error is sqrt(3 * 4 / (6 * 4)) = sqrt(1 / 2).
    ranks = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [1, 2, 3]]
    result = friedman_posthoc(scores_from_ranks(ranks), correction=None)
    pairs = result.pairs
    assert pairs[["method", "versus"]].to_numpy().tolist() == [[0, 1], [0, 2], [1, 2]]
    assert_allclose(pairs["z"], np.array([0.75, 1.5, 0.75]) * math.sqrt(2))
    assert_allclose(pairs["p_value"], [0.288844, 0.033895, 0.288844], atol=1e-6)
    assert (pairs["p_corrected"] == pairs["p_value"]).all()


def test_aligned_test_by_hand():
    # The ranks are [1, 3, 6] and [3, 3, 5]: columns sum to 4, 6, 11 and rows to 10, 11.
    # 2 * (173 - 147) / (91 - 221 / 3) = 52 / (52 / 3) = 3.
    test = aligned_test([[10, 7, 1], [5, 5, 2]])
    assert test.statistic == pytest.approx(3.0)
    assert test.p_value == pytest.approx(math.exp(-1.5))
    assert test.mean_ranks.to_list() == [2, 3, 5.5]


def test_aligned_posthoc_by_hand():
    # The error is sqrt(3 * 7 / 6) = sqrt(3.5).
    result = aligned_posthoc([[10, 7, 1], [5, 5, 2]], control=2, correction=None)
    assert result.pairs[["method", "versus"]].to_numpy().tolist() == [[2, 0], [2, 1]]
    assert_allclose(result.pairs["z"], np.array([3.5, 2.5]) / math.sqrt(3.5))
    assert_allclose(result.pairs["p_value"], [0.061369, 0.181449], atol=1e-6)


def test_finner_by_hand():
    # 1 - 0.99 ** 3, 1 - 0.97 ** 1.5, and 1 - 0.96 ** 1 = 0.04, lifted to the value before it.
    corrected = finner([0.04, 0.01, 0.03])
    assert_allclose(corrected, [0.0446613, 0.029701, 0.0446613], atol=1e-6)


def test_the_aligned_posthoc_test_is_liberal_and_the_plain_one_is_not():
    rng = np.random.default_rng(0)
    alarms = np.zeros(2)
    for _ in range(200):
        scores = rng.normal(size=(20, 2))
        alarms += [test(scores).p_corrected(0, 1) < 0.05 for test in (aligned_posthoc, friedman_posthoc)]
    assert alarms[0] / 200 == pytest.approx(1 / 7, abs=0.05)
    assert alarms[1] / 200 <= 0.07


def test_a_control_needs_fewer_corrections_than_all_pairs():
    scores = kfhe_scores(0.05)
    control = aligned_posthoc(scores, control="KFHE")
    assert_allclose(control.pairs["p_corrected"], finner(control.pairs["p_value"]))
    assert len(control.pairs) == 3
    assert f"{control.p_corrected('KFHE', 'AdaBoost'):.2f}" == "0.13"
    all_pairs = aligned_posthoc(scores)
    assert len(all_pairs.pairs) == 6
    assert f"{all_pairs.p_corrected('KFHE', 'AdaBoost'):.2f}" == "0.16"


# Invariances


@given(whole_tables)
@settings(max_examples=25)
def test_monotone_transformations_leave_friedman_unchanged(scores):
    transformed = np.exp(scores / 7.0) - 3
    assert friedman_test(scores).statistic == friedman_test(transformed).statistic
    assert_frame_equal(friedman_posthoc(scores).pairs, friedman_posthoc(transformed).pairs)


@given(whole_tables, st.data())
@settings(max_examples=25)
def test_a_constant_per_dataset_leaves_the_aligned_tests_unchanged(scores, data):
    shift = data.draw(arrays(np.int64, (len(scores), 1), elements=st.integers(-50, 50)))
    before, after = scores / 100, scores / 100 + shift / 10
    assert aligned_test(before).statistic == aligned_test(after).statistic
    assert_frame_equal(aligned_posthoc(before).pairs, aligned_posthoc(after).pairs)


def test_a_large_difference_moves_aligned_ranks_but_not_plain_ones():
    near = np.array([[0.51, 0.50, 0.49], [0.52, 0.50, 0.48], [0.40, 0.50, 0.60]])
    far = near.copy()
    far[0] = [0.9, 0.5, 0.1]
    assert friedman_test(near).statistic == friedman_test(far).statistic
    assert aligned_test(near).statistic != aligned_test(far).statistic


@given(whole_tables)
@settings(max_examples=25)
def test_errors_test_like_negative_scores(scores):
    for test in (friedman_posthoc, aligned_posthoc):
        assert_frame_equal(test(-scores).pairs, test(scores, higher_is_better=False).pairs)
    for test in (friedman_test, aligned_test):
        assert test(-scores).p_value == test(scores, higher_is_better=False).p_value


@given(st.integers(2, 5), st.integers(3, 5))
@settings(max_examples=25)
def test_methods_that_always_tie_do_not_differ(n, k):
    scores = np.full((n, k), 0.3)
    for test in (friedman_test(scores), aligned_test(scores)):
        assert (test.statistic, test.p_value) == (0.0, 1.0)
    assert friedman_posthoc(scores).pairs["p_corrected"].eq(1).all()


@given(probabilities)
@settings(max_examples=25)
def test_finner_raises_p_values_and_keeps_their_order(p):
    corrected = finner(p)
    assert (corrected >= p * (1 - 1e-12)).all()
    assert (corrected <= 1).all()
    assert (np.diff(corrected[np.argsort(p)]) >= 0).all()


@given(probabilities, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_finner_does_not_depend_on_the_order(p, random):
    order = list(range(len(p)))
    random.shuffle(order)
    assert_allclose(finner(p[order]), finner(p)[order])


def test_finner_leaves_one_p_value_alone_and_keeps_tiny_ones():
    assert finner([0.3]) == pytest.approx(0.3)
    assert finner([1e-30, 0.5])[0] == pytest.approx(2e-30)
    assert finner([]).shape == (0,)


def test_digits_decide_what_ties():
    scores = np.array([[0.50001, 0.5, 0.1], [0.50001, 0.5, 0.1]])
    assert friedman_test(scores, digits=4).mean_ranks.to_list() == [1.5, 1.5, 3]
    assert aligned_test(scores, digits=4).mean_ranks.to_list() == [2.5, 2.5, 5.5]
    assert friedman_posthoc(scores, digits=4).p_corrected(0, 1) == 1
    assert aligned_posthoc(scores, digits=4).p_corrected(0, 1) == 1


# Groups of the rank diagram


def test_groups_of_the_kfhe_homer_paper():
    groups = indistinct_groups(friedman_posthoc(homer_scores()))
    assert groups == [
        ("KFHE-HOMER", "ECC"),
        ("E-HOMER", "HOMER-B"),
        ("ECC", "HOMER-K"),
        ("HOMER-B", "AdaBoost.MH"),
    ]


def test_a_strict_level_joins_more_and_a_lax_one_less():
    result = friedman_posthoc(homer_scores())
    assert indistinct_groups(result, alpha=1e-9) == [("KFHE-HOMER", "AdaBoost.MH")]
    assert indistinct_groups(result, alpha=0.9999) == [("RF-PCT", "HOMER-K")]


def test_groups_need_all_pairs():
    with pytest.raises(ValueError, match="result must compare all pairs"):
        indistinct_groups(friedman_posthoc(homer_scores(), control="KFHE-HOMER"))


# Errors


@pytest.mark.parametrize("test", [friedman_test, friedman_posthoc, aligned_test, aligned_posthoc])
def test_every_test_names_the_missing_score(test):
    scores = pd.DataFrame(
        [[0.9, 0.8, 0.7], [0.6, np.nan, 0.4]],
        index=["iris", "wine"],
        columns=["KFHE", "Bagging", "CART"],
    )
    with pytest.raises(ValueError, match="method 'Bagging' on dataset 'wine' has nan"):
        test(scores)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: friedman_test([[1, 2], [2, 1]]), r"at least 2 datasets .* 3 methods .* 2 and 2"),
        (lambda: aligned_test([[1, 2, 3]]), r"at least 2 datasets .* got 1 and 3"),
        (
            lambda: aligned_posthoc(kfhe_scores(0.0), control="Stacking"),
            r"control must be one of the methods \['KFHE', .*; got 'Stacking'",
        ),
        (
            lambda: friedman_posthoc([[1, 2], [2, 1]], correction="holm"),
            "correction must be 'finner' or None; got 'holm'",
        ),
        (lambda: finner([0.1, 1.2]), "p_values must be between 0 and 1; number 1 is 1.2"),
        (lambda: finner([np.nan]), "p_values must be between 0 and 1; number 0 is nan"),
        (lambda: finner([[0.1]]), "p_values must have one dimension"),
        (
            lambda: friedman_posthoc([[1, 2, 3], [2, 1, 3]], control=0).p_corrected(1, 2),
            "method 1 and versus 2 were not compared",
        ),
    ],
)
def test_wrong_input_gets_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
