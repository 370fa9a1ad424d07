"""What is said to differ differs by a corrected test, and what ties is said to tie."""

import numpy as np
import pandas as pd
import pytest
from fuselearn.lab.reporting.findings import Comparison, LeftOut, find
from fuselearn.lab.reporting.text import answer, describe_omnibus, describe_pairs, verdict

NAMES = ["Bagging", "CART", "ExtraTrees", "AdaBoost", "A", "B", "C", "D", "E", "F"]


def results_of(scores, *, over_folds=False, noise=0.0):
    """Make results from a table of rows, datasets or folds, by methods."""
    rows = [
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
    return pd.DataFrame(rows)


def said_of(scores, **more):
    findings = find(results_of(scores, **more), NAMES)
    return findings.overall, answer(findings)


@pytest.mark.parametrize("over_folds", [False, True], ids=["datasets", "folds"])
@pytest.mark.parametrize("n_methods", [2, 4])
@pytest.mark.parametrize("level", [0.0, 0.7])
def test_methods_that_score_alike_everywhere_tie(over_folds, n_methods, level):
    comparison, said = said_of(np.full((15, n_methods), level), over_folds=over_folds)
    assert said.headline == ("Bagging and CART tie." if n_methods == 2 else "All four methods tie.")
    assert f"mean macro F1 {level:.4f}" in said.sentences[0]
    assert "does not differ significantly" in said.sentences[1]
    assert "differs significantly" not in " ".join(said.sentences)
    assert verdict(comparison, comparison.pairs.index[0]) == "equal"
    assert (comparison.p_corrected == 1).all(axis=None)


def test_means_that_print_alike_tie_though_one_fold_differs():
    scores = np.zeros((15, 2))
    scores[3, 0] = 0.0004
    comparison, said = said_of(scores, over_folds=True)
    assert comparison.ranks["Bagging"] < comparison.ranks["CART"]
    assert said.headline == "Bagging and CART tie."
    assert said.sentences[0] == (
        "Bagging and CART tie: average rank 1.47 and 1.53 of 2 over 15 folds, mean macro F1 0.0000 and 0.0000."
    )


def test_the_best_mean_leads_over_the_folds_of_one_dataset():
    """It is what the table of scores ranks first, though another method wins more folds."""
    scores = np.tile([0.50, 0.51], (15, 1))
    scores[:4, 0] = 0.9
    comparison, said = said_of(scores, over_folds=True)
    assert comparison.ranks["CART"] < comparison.ranks["Bagging"]
    assert said.headline == "Bagging scores best of two methods, but not significantly."
    assert said.sentences[0] == (
        "Bagging leads with a mean macro F1 of 0.607 over 15 folds, 0.097 above CART, the next."
    )
    assert said_of(scores)[1].headline.startswith("CART ranks best of two methods")


def test_two_may_tie_ahead_of_the_others():
    scores = np.tile([0.9, 0.9, 0.5], (15, 1)) + 0.01 * np.random.default_rng(0).normal(size=(15, 1))
    _, said = said_of(scores)
    assert (
        said.headline == "Bagging and CART tie for the best rank of three methods, significantly ahead of ExtraTrees."
    )


def test_a_clear_winner_is_significantly_ahead():
    rng = np.random.default_rng(0)
    for over_folds in (False, True):
        _, said = said_of([0.9, 0.7, 0.5] + 0.01 * rng.normal(size=(15, 3)), over_folds=over_folds)
        how = "scores" if over_folds else "ranks"
        assert said.headline == f"Bagging {how} best of three methods, significantly ahead of every other."


def test_a_leader_without_a_significant_lead_is_said_to_have_none():
    rng = np.random.default_rng(0)
    _, said = said_of([0.701, 0.7, 0.7] + 0.1 * rng.normal(size=(15, 3)))
    assert said.headline.endswith("ranks best of three methods, but not significantly.")
    assert "does not differ significantly from" in said.sentences[1]


def test_many_that_are_beaten_are_counted():
    rng = np.random.default_rng(0)
    scores = np.where(np.arange(10) < 2, 0.9, 0.5) + 0.01 * rng.normal(size=(15, 10))
    _, said = said_of(scores, over_folds=True)
    assert said.headline.endswith("scores best of ten methods, significantly ahead of eight of them.")


def test_one_row_cannot_be_tested():
    comparison, said = said_of([[0.9, 0.8]], over_folds=True)
    assert said.headline == "Bagging scores best of two methods, by one fold alone."
    assert said.sentences[1] == "One fold cannot show whether that is more than chance."
    assert verdict(comparison, "CART") == "not tested"
    assert describe_pairs(comparison) == ""


@pytest.mark.parametrize(
    ("shape", "over_folds", "name"),
    [
        ((12, 2), False, "Wilcoxon's signed-rank test"),
        ((12, 4), False, "Friedman's post-hoc test with Finner's correction for all pairs"),
        ((15, 2), True, "the corrected resampled t-test"),
        ((15, 4), True, "the corrected resampled t-test with Finner's correction for all pairs"),
    ],
)
def test_the_test_is_named(shape, over_folds, name):
    comparison, said = said_of(np.random.default_rng(0).random(shape), over_folds=over_folds)
    assert said.sentences[1].startswith(f"By {name}, ")
    assert describe_pairs(comparison).startswith(f"By {name}, ")
    assert name.split(" with ")[0].replace("post-hoc ", "") in describe_omnibus(comparison)


RANDOM = [(4, 2, False), (12, 2, False), (5, 3, False), (20, 4, False), (12, 10, False), (15, 2, True), (15, 4, True)]


def random_scores(rng, n_rows, n_methods, over_folds):
    """Draw scores of methods that do not differ; what folds of one dataset share moves a method's whole column."""
    shared = 0.5 * rng.normal(size=n_methods) if over_folds else 0
    return 0.5 + 0.05 * (shared + rng.normal(size=(n_rows, n_methods)))


@pytest.mark.parametrize(("n_rows", "n_methods", "over_folds"), RANDOM)
def test_random_results_are_rarely_claimed_to_differ(n_rows, n_methods, over_folds):
    rng = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product([range(n_rows), [0.0]], names=["row", "noise"])
    claims = 0
    for _ in range(40):
        cells = pd.DataFrame(random_scores(rng, n_rows, n_methods, over_folds), rows, NAMES[:n_methods])
        claims += bool(Comparison((0.0,), cells, 5 if over_folds else None, NAMES[0], LeftOut()).beaten)
    # Of 40 tables two are expected; more than six come up once in two hundred times.
    assert claims <= 6


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_methods", "over_folds"), RANDOM)
def test_at_most_one_random_report_in_twenty_claims_a_difference(n_rows, n_methods, over_folds):
    rng = np.random.default_rng(1)
    claims = 0
    for _ in range(500):
        comparison, said = said_of(random_scores(rng, n_rows, n_methods, over_folds), over_folds=over_folds)
        claims += "significantly ahead" in said.headline
        assert ("differs significantly" in said.sentences[1]) == bool(comparison.beaten)
    assert claims / 500 <= 0.07


def test_no_pair_is_more_certain_than_that_methods_differ_at_all():
    rng = np.random.default_rng(1)
    comparison, _ = said_of(rng.random((8, 5)))
    assert (comparison.p_corrected >= comparison.omnibus.p_value).all(axis=None)
