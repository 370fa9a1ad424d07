from io import BytesIO
from itertools import pairwise
from types import SimpleNamespace

import matplotlib.colors
import numpy as np
import pandas as pd
import pytest
from fuselearn.lab.published import load_published
from fuselearn.lab.reporting.figures import (
    _bar_levels,
    _format_seconds,
    _spread,
    critical_difference,
    filter_traces,
    fit_time_against_score,
    rank_against_noise,
    score_against_noise,
)
from fuselearn.lab.reporting.styles import method_styles
from fuselearn.lab.statistics.rank_tests import aligned_posthoc, friedman_posthoc
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text
from numpy.testing import assert_allclose

from fuselearn.lab.statistics.ranks import score_table

METHODS = ["KFHE", "AdaBoost", "Bagging", "CART"]
NOISE = [0.0, 0.05, 0.1, 0.15, 0.2]


@pytest.fixture
def scores():
    return load_published("kfhe_scores")


@pytest.fixture
def timed(scores):
    seconds = {"KFHE": 0.2, "AdaBoost": 0.1, "Bagging": 0.05, "CART": 0.001}
    growth = np.tile(np.repeat([1.0, 4.0], 4), 50)
    return scores.assign(fit_seconds=scores["method"].map(seconds) * growth)


def trace(n_iterations, *, with_start=False):
    values = np.linspace(1, 0.1, n_iterations)
    variances = np.linspace(1, 0.1, n_iterations + with_start)
    return SimpleNamespace(
        gains_=values,
        variances_=variances,
        measurement_errors_=values / 2,
        train_errors_=values / 4,
    )


def lines_by_label(axes):
    return {line.get_label(): line for line in axes.lines if line.get_label()[0] != "_"}


def texts(axes):
    return [text.get_text() for text in axes.texts]


def has_style(line, style):
    return matplotlib.colors.same_color(line.get_color(), style.color) and line.get_marker() == style.marker


def text_boxes(figure):
    figure.draw_without_rendering()
    return [Text.get_window_extent(text) for axes in figure.axes for text in axes.texts]


# Rank against noise


def test_rank_against_noise_shows_the_papers_average_ranks(scores):
    lines = lines_by_label(rank_against_noise(scores).axes[0])
    assert list(lines) == METHODS
    assert_allclose(lines["KFHE"].get_xdata(), NOISE)
    assert_allclose(lines["KFHE"].get_ydata(), [1.925, 1.7, 1.6, 1.7, 2.0])
    assert_allclose(lines["AdaBoost"].get_ydata(), [1.725, 2.5, 3.05, 3.05, 3.3])


def test_the_best_rank_is_on_top_and_every_rank_is_inside(scores):
    axes = rank_against_noise(scores).axes[0]
    bottom, top = axes.get_ylim()
    assert axes.yaxis_inverted()
    assert bottom > 3.675
    assert top < 1.6
    assert "rank" in axes.get_ylabel()


def test_rank_axis_names_the_noise_in_per_cent(scores):
    labels = [tick.get_text() for tick in rank_against_noise(scores).axes[0].get_xticklabels()]
    assert labels == ["0%", "5%", "10%", "15%", "20%"]


def test_every_line_of_the_rank_figure_is_labelled_without_overlap(scores):
    twin = scores[scores["method"] == "CART"].assign(method="A twin with a very long name")
    figure = rank_against_noise(pd.concat([scores, twin]))
    assert set(texts(figure.axes[0])) == {*METHODS, "A twin with a very long name"}
    boxes = sorted(text_boxes(figure), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))
    assert max(box.x1 for box in boxes) <= figure.bbox.x1


def test_rank_figure_ties_what_prints_alike():
    results = pd.DataFrame(
        {
            "dataset": ["wine"] * 2,
            "noise": [0.0] * 2,
            "method": ["KFHE", "CART"],
            "score": [0.90001, 0.9],
        }
    )
    exact = lines_by_label(rank_against_noise(results, digits=None).axes[0])
    printed = lines_by_label(rank_against_noise(results).axes[0])
    assert [line.get_ydata()[0] for line in exact.values()] == [1, 2]
    assert [line.get_ydata()[0] for line in printed.values()] == [1.5, 1.5]
    losses = lines_by_label(rank_against_noise(results, digits=None, higher_is_better=False).axes[0])
    assert [line.get_ydata()[0] for line in losses.values()] == [2, 1]


def test_rank_figure_names_a_missing_score(scores):
    with pytest.raises(ValueError, match="method 'KFHE' on dataset 'iris' has nan"):
        rank_against_noise(scores.drop(index=4))


# Score against noise


def test_score_against_noise_has_a_panel_per_dataset_in_order(scores):
    figure = score_against_noise(scores)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == list(scores["dataset"].unique())
    for axes in figure.axes:
        assert list(lines_by_label(axes)) == METHODS


def test_score_against_noise_shows_the_papers_scores(scores):
    figure = score_against_noise(scores)
    iris = next(axes for axes in figure.axes if axes.get_title(loc="left") == "iris")
    expected = scores.query("dataset == 'iris' and method == 'CART'")["score"]
    assert_allclose(lines_by_label(iris)["CART"].get_ydata(), expected)


def test_small_multiples_have_one_legend_inside_the_figure(scores):
    scores = scores[scores["dataset"].isin(["iris", "wine"])]
    long = scores.replace({"method": {m: f"{m} with a long description" for m in METHODS}})
    for results in (scores, long):
        figure = score_against_noise(results)
        figure.draw_without_rendering()
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == list(results["method"].unique())
        assert all(axes.get_legend() is None for axes in figure.axes)
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


@pytest.mark.parametrize(("columns", "expected"), [(1, 20), (3, 7), (4, 5)])
def test_columns_decide_the_grid(scores, columns, expected):
    grid = score_against_noise(scores, columns=columns).axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == (expected, columns)


def test_a_missing_score_leaves_a_gap(scores):
    figure = score_against_noise(scores.drop(index=4))
    iris = figure.axes[1]
    assert np.isnan(lines_by_label(iris)["KFHE"].get_ydata()[0])
    assert not np.isnan(lines_by_label(iris)["CART"].get_ydata()).any()


# The filter's trace


def test_filter_traces_show_four_curves_per_dataset():
    figure = filter_traces({"iris": trace(10), "wine": trace(20)})
    iris, wine = figure.axes
    assert (iris.get_title(loc="left"), wine.get_title(loc="left")) == ("iris", "wine")
    lines = lines_by_label(iris)
    assert set(lines) == {"gain K", "variance P", "measurement error R", "training error"}
    assert_allclose(lines["gain K"].get_ydata(), np.linspace(1, 0.1, 10))
    assert_allclose(lines["measurement error R"].get_ydata(), np.linspace(1, 0.1, 10) / 2)
    assert_allclose(lines["training error"].get_ydata(), np.linspace(1, 0.1, 10) / 4)
    assert_allclose(lines["gain K"].get_xdata(), np.arange(1, 11))


def test_all_traces_share_the_longest_run():
    figure = filter_traces({"iris": trace(10), "wine": trace(20)})
    assert [axes.get_xlim() for axes in figure.axes] == [(0, 20), (0, 20)]


def test_a_variance_that_starts_before_the_first_iteration_starts_at_zero():
    lines = lines_by_label(filter_traces({"iris": trace(10, with_start=True)}).axes[0])
    assert_allclose(lines["variance P"].get_xdata(), np.arange(11))
    assert_allclose(lines["gain K"].get_xdata(), np.arange(1, 11))


def test_trace_curves_can_be_told_apart_in_grey_print():
    lines = filter_traces({"iris": trace(5)}).axes[0].lines
    assert len({line.get_color() for line in lines}) == 4
    assert len({line.get_linestyle() for line in lines}) >= 3


def test_traces_of_unequal_length_are_refused():
    broken = trace(10)
    broken.train_errors_ = broken.train_errors_[:7]
    with pytest.raises(ValueError, match="on 'iris' gains_ has 10 and train_errors_ has 7"):
        filter_traces({"iris": broken})


def test_no_trace_is_refused():
    with pytest.raises(ValueError, match="traces must hold at least one dataset"):
        filter_traces({})


# The critical-difference diagram


def bars(figure):
    return [line for line in figure.axes[0].lines if line.get_gid() == "bar"]


def test_critical_difference_of_the_kfhe_homer_paper():
    scores = score_table(load_published("kfhe_homer_scores"))
    figure = critical_difference(friedman_posthoc(scores))
    extents = [tuple(bar.get_xdata()) for bar in bars(figure)]
    # KFHE-HOMER to ECC, E-HOMER to HOMER-B, ECC to HOMER-K, HOMER-B to AdaBoost.MH.
    assert_allclose(extents, [(1.3, 3.8), (2.9, 5.1), (3.8, 5.8), (5.1, 7.1)], atol=0.1)
    for rank, method in [("1.30", "KFHE-HOMER"), ("7.10", "AdaBoost.MH")]:
        assert any(rank in text and method in text for text in texts(figure.axes[0]))
    assert len(figure.axes[0].texts) == 8


def test_bars_follow_the_level():
    result = friedman_posthoc(score_table(load_published("kfhe_homer_scores")))
    (all_joined,) = bars(critical_difference(result, alpha=1e-9))
    assert_allclose(all_joined.get_xdata(), (1.3, 7.1), atol=0.1)
    figure = critical_difference(result, alpha=0.1)
    assert "0.1" in figure.axes[0].get_xlabel()
    assert_allclose(bars(figure)[0].get_xdata(), (1.3, 2.9), atol=0.1)


def test_bars_that_overlap_lie_on_different_levels():
    figure = critical_difference(friedman_posthoc(score_table(load_published("kfhe_homer_scores"))))
    first, second, third, fourth = [bar.get_ydata()[0] for bar in bars(figure)]
    assert len({first, second, third}) == 3
    assert fourth not in (second, third)


def test_the_diagram_takes_aligned_ranks_and_says_so(scores):
    figure = critical_difference(aligned_posthoc(score_table(scores, noise=0.1)))
    axes = figure.axes[0]
    assert "aligned" in axes.get_xlabel()
    low, high = axes.get_xlim()
    assert low < 22.5 < 57.375 < high
    assert high > low


def test_labels_of_the_diagram_do_not_overlap(scores):
    figure = critical_difference(friedman_posthoc(score_table(load_published("kfhe_homer_scores"))))
    boxes = text_boxes(figure)
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_levels_are_shared_by_bars_that_are_clear_of_each_other():
    assert _bar_levels([(1, 2), (3, 4)], gap=0.5) == [0, 0]
    assert _bar_levels([(1, 3), (2, 5), (4, 6), (5.2, 7)], gap=0.5) == [0, 1, 0, 2]
    assert _bar_levels([], gap=0.5) == []


# Fit time against score


def test_fit_time_against_score_shows_means(timed):
    axes = fit_time_against_score(timed).axes[0]
    lines = lines_by_label(axes)
    assert axes.get_xscale() == "log"
    # Fit times of 0.2 and 0.8 seconds, equally often: the geometric mean is 0.4.
    assert_allclose(lines["KFHE"].get_xdata(), [0.4])
    expected = timed.loc[timed["method"] == "KFHE", "score"].mean()
    assert_allclose(lines["KFHE"].get_ydata(), [expected])


def test_the_legend_of_the_fit_times_starts_with_the_best(timed):
    figure = fit_time_against_score(timed)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    means = timed.groupby("method")["score"].mean()
    assert labels == list(means.sort_values(ascending=False).index)


@pytest.mark.parametrize("seconds", [0.0, -1.0, np.nan])
def test_fit_times_must_be_above_zero(timed, seconds):
    timed.loc[5, "fit_seconds"] = seconds
    with pytest.raises(ValueError, match="method 'AdaBoost' on dataset 'iris' has"):
        fit_time_against_score(timed)


def test_a_thin_line_spans_the_middle_half_of_the_fit_times(timed):
    axes = fit_time_against_score(timed).axes[0]
    spans = [line for line in axes.lines if line.get_label()[0] == "_"]
    assert len(spans) == 4
    # A method takes 1 and 4 times its number, equally often, so the quartiles are these.
    best = timed.groupby("method")["score"].mean().idxmax()
    seconds = {"KFHE": 0.2, "AdaBoost": 0.1, "Bagging": 0.05, "CART": 0.001}[best]
    assert_allclose(spans[0].get_xdata(), [seconds, 4 * seconds])


@pytest.mark.parametrize(
    ("seconds", "ticks"),
    [
        ([0.001, 0.1], ["1 ms", "10 ms", "100 ms"]),
        ([0.1, 0.1], ["70 ms", "100 ms", "150 ms"]),
        ([0.2, 0.6], ["200 ms", "300 ms", "400 ms", "500 ms"]),
        ([0.5, 7], ["500 ms", "1 s", "2 s", "5 s"]),
        ([3, 50], ["3 s", "10 s", "30 s"]),
        ([0.001, 400], ["1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"]),
    ],
)
def test_the_time_axis_has_ticks_for_any_times(seconds, ticks):
    results = pd.DataFrame({"dataset": "iris", "method": ["A", "B"], "score": [0.8, 0.9], "fit_seconds": seconds})
    axes = fit_time_against_score(results).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ticks


@given(st.floats(1e-5, 1e5), st.floats(1, 100))
@settings(max_examples=20)
def test_the_time_axis_has_at_least_three_ticks(shortest, factor):
    results = pd.DataFrame(
        {"dataset": "iris", "method": ["A", "B"], "score": [0.8, 0.9], "fit_seconds": [shortest, shortest * factor]}
    )
    axes = fit_time_against_score(results).axes[0]
    low, high = axes.get_xlim()
    assert low <= shortest <= shortest * factor <= high
    assert 3 <= sum(low <= tick <= high for tick in axes.get_xticks()) <= 9


def test_seconds_are_written_for_readers():
    assert [_format_seconds(value) for value in (0.001, 0.1, 1, 100)] == [
        "1 ms",
        "100 ms",
        "1 s",
        "100 s",
    ]


# All figures


def test_a_method_looks_the_same_in_every_figure(scores, timed):
    styles = method_styles(METHODS)
    figures = [rank_against_noise(scores), score_against_noise(scores)]
    for figure in [*figures, fit_time_against_score(timed)]:
        lines = lines_by_label(figure.axes[0])
        assert all(has_style(lines[method], styles[method]) for method in METHODS)
    diagram = critical_difference(friedman_posthoc(score_table(scores, noise=0.1)))
    marked = {line.get_marker(): line for line in diagram.axes[0].lines}
    assert all(has_style(marked[style.marker], style) for style in styles.values())


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_figures_can_be_saved_and_leave_pyplot_alone(timed, suffix, start):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    file = BytesIO()
    fit_time_against_score(timed).savefig(file, format=suffix)
    assert file.getvalue().startswith(start)
    assert plt.get_fignums() == before


@pytest.mark.parametrize("draw", [rank_against_noise, score_against_noise, fit_time_against_score])
def test_figures_refuse_repeated_rows_and_missing_columns(timed, draw):
    with pytest.raises(ValueError, match="there are several for dataset 'mushroom', noise"):
        draw(pd.concat([timed, timed.iloc[:1]]))
    with pytest.raises(ValueError, match="score not found"):
        draw(timed.drop(columns="score"))
    with pytest.raises(ValueError, match="at least one row"):
        draw(timed.iloc[:0])


def test_one_dataset_and_one_level_are_enough(timed):
    one = timed.iloc[4:8]
    best_first = one.sort_values("score", ascending=False)
    ranks = lines_by_label(rank_against_noise(one).axes[0])
    assert sorted(ranks, key=lambda method: ranks[method].get_ydata()[0]) == list(best_first["method"])
    assert sorted(line.get_ydata()[0] for line in ranks.values()) == [1, 2, 3, 4]
    scores = lines_by_label(score_against_noise(one).axes[0])
    assert [scores[method].get_ydata().tolist() for method in one["method"]] == [[score] for score in one["score"]]
    times = lines_by_label(fit_time_against_score(one).axes[0])
    assert_allclose([times[method].get_xdata()[0] for method in one["method"]], one["fit_seconds"])


def test_columns_must_be_at_least_one(scores):
    with pytest.raises(ValueError, match="columns must be at least 1; got 0"):
        score_against_noise(scores, columns=0)


def test_spread_moves_crowds_apart_around_their_mean():
    assert_allclose(_spread(np.array([1.0, 5.0]), gap=1), [1, 5])
    assert_allclose(_spread(np.array([3.0, 3.0, 3.0]), gap=1), [2, 3, 4])
    assert_allclose(_spread(np.array([3.2, 3.0, 9.0]), gap=1), [3.6, 2.6, 9])
