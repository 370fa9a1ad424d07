"""What is said to differ differs by a corrected test, and what ties is said to tie."""

import numpy as np
import pandas as pd
import pytest

from fuselearn.lab.comparison import Comparison, compare_methods
from fuselearn.lab.statistics import friedman_posthoc, resampled_t_test

NAMES = ["Bagging", "CART", "ExtraTrees", "AdaBoost", "A", "B", "C", "D", "E", "F"]


def results_of(scores, *, over_folds=False, noise=0.0):
    """Make results from a table of rows, datasets or folds, by methods."""
    return pd.DataFrame(
        [
            {
                "dataset": "mine" if over_folds else f"data{row}",
                "noise": noise,
                "repeat": row // 5 if over_folds else 0,
                "fold": row % 5 if over_folds else 0,
                "method": method,
                "macro_f1": score,
            }
            for row, line in enumerate(np.asarray(scores, dtype=float))
            for method, score in zip(NAMES, line, strict=False)
        ]
    )


def compared(scores, control=None, **more):
    return compare_methods(results_of(scores, **more), NAMES, n_splits=5, control=control)


@pytest.mark.parametrize("over_folds", [False, True], ids=["datasets", "folds"])
@pytest.mark.parametrize("n_methods", [2, 4])
@pytest.mark.parametrize("level", [0.0, 0.7])
def test_methods_that_score_alike_everywhere_tie(over_folds, n_methods, level):
    found = compared(np.full((15, n_methods), level), over_folds=over_folds)
    assert found.headline == f"All {n_methods} methods tie."
    assert found.beaten == []
    assert (found.p_corrected.fillna(1) == 1).all(axis=None)


def test_means_that_print_alike_tie_though_one_fold_differs():
    scores = np.zeros((15, 2))
    scores[3, 0] = 0.0004
    found = compared(scores, over_folds=True)
    assert found.ranks["Bagging"] < found.ranks["CART"]
    assert found.tied_best == ["Bagging", "CART"]


def test_the_best_mean_leads_over_the_folds_of_one_dataset():
    """It is what the table of scores ranks first, though another method wins more folds."""
    scores = np.tile([0.50, 0.51], (15, 1))
    scores[:4, 0] = 0.9
    found = compared(scores, over_folds=True)
    assert found.ranks["CART"] < found.ranks["Bagging"]
    assert found.headline == "Bagging has the best mean score of 2 methods, but not significantly."
    assert compared(scores).headline.startswith("CART has the best average rank of 2 methods")


def test_two_may_tie_ahead_of_the_others():
    scores = np.tile([0.9, 0.9, 0.5], (15, 1)) + 0.01 * np.random.default_rng(0).normal(size=(15, 1))
    said = "Bagging, CART have the best average rank of 3 methods, significantly ahead of all others."
    assert compared(scores).headline == said


def test_only_what_is_beaten_is_named():
    rng = np.random.default_rng(0)
    found = compared([0.9, 0.7, 0.5] + 0.01 * rng.normal(size=(15, 3)))
    assert found.beaten == ["CART", "ExtraTrees"]
    assert found.headline.endswith("significantly ahead of all others.")
    found = compared([0.7, 0.69, 0.5] + 0.05 * rng.normal(size=(15, 3)))
    assert found.headline == f"{found.best} has the best average rank of 3 methods, significantly ahead of ExtraTrees."
    found = compared([0.701, 0.7, 0.7] + 0.1 * rng.normal(size=(15, 3)))
    assert found.headline.endswith(", but not significantly.")


def test_one_row_or_method_cannot_be_tested():
    found = compared([[0.9, 0.8]], over_folds=True)
    assert (
        found.headline
        == "Bagging has the best mean score of 2 methods, by 1 fold alone; a test needs at least 5 folds."
    )
    assert found.p_corrected.isna().loc["Bagging", "CART"]
    assert compared([[0.9], [0.8]]).headline == "Only Bagging finished."


@pytest.mark.parametrize(
    ("shape", "over_folds", "name"),
    [
        ((12, 2), False, "Wilcoxon's signed-rank test"),
        ((12, 4), False, "Friedman's post-hoc test of the average ranks with Finner's correction for all pairs"),
        ((15, 2), True, "corrected resampled t-test of the mean scores"),
        ((15, 4), True, "corrected resampled t-test of the mean scores with Finner's correction for all pairs"),
    ],
)
def test_the_test_is_named(shape, over_folds, name):
    found = compared(np.random.default_rng(0).random(shape), over_folds=over_folds)
    assert found.test_name == name
    assert found.rows == f"{shape[0]} {'folds' if over_folds else 'datasets'}"
    assert (found.omnibus is None) == (over_folds or shape[1] == 2)


def test_several_levels_are_ranked_and_tested_by_their_mean():
    clean = np.tile([0.9, 0.85, 0.6], (3, 1))
    results = pd.concat(
        [results_of(clean - [[2 * noise, 0, 0]], noise=noise) for noise in (0.0, 0.1, 0.2)], ignore_index=True
    )
    overall = compare_methods(results, NAMES, n_splits=5)
    # Bagging is ahead on clean labels only: 0.9, 0.7 and 0.5 against 0.85.
    assert compare_methods(results, NAMES, [0.0], n_splits=5).best == "Bagging"
    assert overall.ranks.to_dict() == {"Bagging": 2, "CART": 1, "ExtraTrees": 3}
    assert overall.scores.loc["data0"].to_list() == pytest.approx([0.7, 0.85, 0.6])
    pairs = overall.against("CART")
    assert pairs.loc["Bagging", ["wins", "ties", "losses"]].to_list() == [3, 0, 0]
    ranks = friedman_posthoc(overall.scores).mean_ranks
    assert overall.ranks.to_dict() == ranks.to_dict()
    assert overall.noise == (0.0, 0.1, 0.2)


def test_two_folds_are_too_few_for_a_claim():
    rows = [0.9, 0.5] + 0.001 * np.random.default_rng(0).normal(size=(10, 2))
    few = compared(rows[:2], over_folds=True)
    assert few.headline.endswith("by 2 folds alone; a test needs at least 5 folds.")
    assert (few.against("Bagging")["verdict"] == "").all()
    assert compared(rows[:5], over_folds=True).headline.endswith("significantly ahead of all others.")


def test_a_control_is_tested_against_each_other_method_only():
    rng = np.random.default_rng(0)
    scores = [0.9, 0.7, 0.5] + 0.05 * rng.normal(size=(15, 3))
    found = compared(scores, control="CART")
    expected = friedman_posthoc(pd.DataFrame(scores, columns=NAMES[:3]), control="CART", digits=4)
    assert found.p_corrected.loc["CART", "Bagging"] == pytest.approx(expected.p_corrected("CART", "Bagging"))
    assert np.isnan(found.p_corrected.loc["Bagging", "ExtraTrees"])
    assert found.against("CART")["verdict"].to_dict() == {"Bagging": "worse", "ExtraTrees": "better"}
    assert found.headline == (
        "Bagging has the best average rank of 3 methods; CART is significantly ahead of ExtraTrees and "
        "significantly behind Bagging."
    )
    assert "for the pairs with CART" in found.test_name
    alike = compared([0.701, 0.7, 0.7] + 0.1 * rng.normal(size=(15, 3)), control="CART")
    assert alike.headline.endswith("CART is not significantly different from any other.")
    with pytest.raises(ValueError, match=r"control must be one of the methods Bagging, .*; got 'Fused'"):
        compared(scores, control="Fused")


def test_the_correction_of_the_t_test_follows_the_folds_of_a_repeat():
    """Only two of five folds were run, five times: training samples are still four times the test samples."""
    scores = np.random.default_rng(0).random((10, 2))
    results = results_of(scores, over_folds=True)
    results["repeat"], results["fold"] = results.index // 4, results.index // 2 % 2
    found = compare_methods(results, NAMES, n_splits=5)
    expected = resampled_t_test(*scores.round(4).T, n_splits=5).p_value
    assert found.p_corrected.loc["Bagging", "CART"] == pytest.approx(expected)


def test_what_is_incomplete_is_left_out_and_named():
    results = results_of(np.random.default_rng(0).random((6, 3)))
    results.loc[(results["method"] == "CART") & (results["dataset"] != "data0"), "macro_f1"] = np.nan
    results.loc[(results["method"] == "Bagging") & (results["dataset"] == "data3"), "macro_f1"] = np.nan
    found = compare_methods(results, NAMES, n_splits=5)
    assert found.methods == ["Bagging", "ExtraTrees"]
    assert found.left_out == ("CART", "data3")
    assert len(found.scores) == 5
    assert compare_methods(results.assign(macro_f1=np.nan), NAMES, n_splits=5) is None


RANDOM = [(4, 2, False), (12, 2, False), (5, 3, False), (20, 4, False), (12, 10, False), (15, 2, True), (15, 4, True)]


def claims_of(rng, n_tables, n_rows, n_methods, over_folds):
    """Count claims about methods that do not differ; what folds of one dataset share moves a method's whole column."""
    claims = 0
    for _ in range(n_tables):
        shared = 0.5 * rng.normal(size=n_methods) if over_folds else 0
        scores = 0.5 + 0.05 * (shared + rng.normal(size=(n_rows, n_methods)))
        found = Comparison((0.0,), pd.DataFrame(scores, columns=NAMES[:n_methods]), 5 if over_folds else None)
        claims += bool(found.beaten)
        assert ("significantly ahead" in found.headline) == bool(found.beaten)
    return claims


@pytest.mark.parametrize(("n_rows", "n_methods", "over_folds"), RANDOM)
def test_random_results_are_rarely_claimed_to_differ(n_rows, n_methods, over_folds):
    # Of 40 tables two are expected; more than six come up once in two hundred times.
    assert claims_of(np.random.default_rng(0), 40, n_rows, n_methods, over_folds) <= 6


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_methods", "over_folds"), RANDOM)
def test_at_most_one_random_report_in_twenty_claims_a_difference(n_rows, n_methods, over_folds):
    assert claims_of(np.random.default_rng(1), 500, n_rows, n_methods, over_folds) / 500 <= 0.07


def test_no_pair_is_more_certain_than_that_methods_differ_at_all():
    found = compared(np.random.default_rng(1).random((8, 5)))
    assert (found.p_corrected.fillna(1) >= found.omnibus.p_value).all(axis=None)
