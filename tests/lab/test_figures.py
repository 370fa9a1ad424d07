from io import BytesIO

import matplotlib.colors
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text
from numpy.testing import assert_allclose

from fuselearn.lab.figures import (
    COLORS,
    MARKERS,
    _bar_levels,
    critical_difference,
    fit_time_against_score,
    method_styles,
    rank_against_noise,
    score_against_noise,
)
from fuselearn.lab.statistics import aligned_posthoc, average_ranks, friedman_posthoc

METHODS = ["KFHE", "AdaBoost", "Bagging", "CART"]
NOISE = [0.0, 0.05, 0.1, 0.15, 0.2]


def table_of(scores, noise):
    """Return the scores of one level, datasets by methods in order of appearance."""
    level = scores[scores["noise"] == noise]
    table = level.pivot(index="dataset", columns="method", values="score")
    return table.loc[level["dataset"].unique(), level["method"].unique()]


@pytest.fixture
def scores():
    """Scores in which noise harms AdaBoost most."""
    rng = np.random.default_rng(0)
    rows = [
        (f"data{number}", noise, method, level - slope * noise + rng.normal(0, 0.01))
        for number in range(20)
        for noise in NOISE
        for method, level, slope in zip(METHODS, (0.9, 0.9, 0.85, 0.7), (0.5, 1.5, 0.2, 0.4), strict=True)
    ]
    return pd.DataFrame(rows, columns=["dataset", "noise", "method", "score"])


# Eight methods on ten datasets, far enough apart for four groups.
EIGHT = pd.DataFrame(0.01 * (np.random.default_rng(6).normal(size=(10, 8)) - np.arange(8))).add_prefix("method ")


@pytest.fixture
def timed(scores):
    seconds = {"KFHE": 0.2, "AdaBoost": 0.1, "Bagging": 0.05, "CART": 0.001}
    growth = np.tile(np.repeat([1.0, 4.0], 4), 50)
    return scores.assign(fit_seconds=scores["method"].map(seconds) * growth)


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


def test_rank_against_noise_shows_average_ranks(scores):
    figure = rank_against_noise(scores)
    lines = lines_by_label(figure.axes[0])
    assert list(lines) == METHODS
    assert_allclose(lines["KFHE"].get_xdata(), NOISE)
    for method, line in lines.items():
        ranks = [average_ranks(table_of(scores, noise), digits=4)[method] for noise in NOISE]
        assert_allclose(line.get_ydata(), ranks)
    last = {method: line.get_ydata()[-1] for method, line in lines.items()}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == sorted(METHODS, key=last.get)


def test_the_best_rank_is_on_top_and_every_rank_is_inside(scores):
    axes = rank_against_noise(scores).axes[0]
    bottom, top = axes.get_ylim()
    assert axes.yaxis_inverted()
    ranks = np.concatenate([line.get_ydata() for line in axes.lines])
    assert bottom > ranks.max()
    assert top < ranks.min()
    assert "rank" in axes.get_ylabel()


def test_rank_axis_names_the_noise_in_per_cent(scores):
    labels = [tick.get_text() for tick in rank_against_noise(scores).axes[0].get_xticklabels()]
    assert labels == ["0%", "5%", "10%", "15%", "20%"]


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


def test_rank_figure_names_a_missing_score(scores):
    with pytest.raises(ValueError, match="method 'KFHE' on dataset 'data1' has nan"):
        rank_against_noise(scores.drop(index=20))


# Score against noise


def test_score_against_noise_has_a_panel_per_dataset_in_order(scores):
    figure = score_against_noise(scores)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == list(scores["dataset"].unique())
    for axes in figure.axes:
        assert list(lines_by_label(axes)) == METHODS


def test_score_against_noise_shows_scores(scores):
    expected = scores.query("dataset == 'data1' and method == 'CART'")["score"]
    assert_allclose(lines_by_label(score_against_noise(scores).axes[1])["CART"].get_ydata(), expected)


def test_small_multiples_have_one_legend_inside_the_figure(scores):
    scores = scores[scores["dataset"].isin(["data1", "data2"])]
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
    lines = lines_by_label(score_against_noise(scores.drop(index=20)).axes[1])
    assert np.isnan(lines["KFHE"].get_ydata()[0])
    assert not np.isnan(lines["CART"].get_ydata()).any()


# The critical-difference diagram


def bars(figure):
    return [line for line in figure.axes[0].lines if line.get_gid() == "bar"]


def test_bars_join_what_the_test_does_not_tell_apart():
    result = friedman_posthoc(EIGHT)
    figure = critical_difference(result)
    for bar in bars(figure):
        low, high = bar.get_xdata()
        inside = [method for method, rank in result.mean_ranks.items() if low <= rank <= high]
        ends = sorted(inside, key=result.mean_ranks.get)
        assert result.p_corrected(ends[0], ends[-1]) > 0.05
    for method, rank in result.mean_ranks.items():
        assert any(f"{rank:.2f}" in text and method in text for text in texts(figure.axes[0]))
    (all_joined,) = bars(critical_difference(result, alpha=1e-9))
    assert_allclose(all_joined.get_xdata(), (result.mean_ranks.min(), result.mean_ranks.max()), atol=0.1)
    assert "0.1" in critical_difference(result, alpha=0.1).axes[0].get_xlabel()


def test_bars_that_overlap_lie_on_different_levels():
    drawn = [(*bar.get_xdata(), bar.get_ydata()[0]) for bar in bars(critical_difference(friedman_posthoc(EIGHT)))]
    assert len(drawn) >= 3
    for place, (low, high, level) in enumerate(drawn):
        assert not any(level == other[2] and low <= other[1] and other[0] <= high for other in drawn[:place])


def test_the_diagram_takes_aligned_ranks_and_says_so(scores):
    result = aligned_posthoc(table_of(scores, 0.1))
    axes = critical_difference(result).axes[0]
    assert "aligned" in axes.get_xlabel()
    low, high = axes.get_xlim()
    assert low < result.mean_ranks.min() < result.mean_ranks.max() < high


def test_labels_of_the_diagram_do_not_overlap():
    figure = critical_difference(friedman_posthoc(EIGHT))
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
    with pytest.raises(ValueError, match="method 'AdaBoost' on dataset 'data0' has"):
        fit_time_against_score(timed)


def test_a_thin_line_spans_the_middle_half_of_the_fit_times(timed):
    axes = fit_time_against_score(timed).axes[0]
    spans = [line for line in axes.lines if line.get_label()[0] == "_"]
    assert len(spans) == 4
    # A method takes 1 and 4 times its number, equally often, so the quartiles are these.
    best = timed.groupby("method")["score"].mean().idxmax()
    seconds = {"KFHE": 0.2, "AdaBoost": 0.1, "Bagging": 0.05, "CART": 0.001}[best]
    assert_allclose(spans[0].get_xdata(), [seconds, 4 * seconds])


@given(st.floats(1e-5, 1e5), st.floats(1, 100))
@settings(max_examples=20)
def test_the_time_axis_has_ticks_with_units(shortest, factor):
    results = pd.DataFrame(
        {"dataset": "iris", "method": ["A", "B"], "score": [0.8, 0.9], "fit_seconds": [shortest, shortest * factor]}
    )
    axes = fit_time_against_score(results).axes[0]
    low, high = axes.get_xlim()
    assert low <= shortest <= shortest * factor <= high
    assert 3 <= sum(low <= tick <= high for tick in axes.get_xticks()) <= 10
    assert all(tick.get_text().endswith("s") for tick in axes.get_xticklabels())


# All figures


def test_a_method_looks_the_same_in_every_figure(scores, timed):
    styles = method_styles(METHODS)
    figures = [rank_against_noise(scores), score_against_noise(scores)]
    for figure in [*figures, fit_time_against_score(timed)]:
        lines = lines_by_label(figure.axes[0])
        assert all(has_style(lines[method], styles[method]) for method in METHODS)
    diagram = critical_difference(friedman_posthoc(table_of(scores, 0.1)))
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
    with pytest.raises(ValueError, match="there are several for dataset 'data0', noise"):
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


@pytest.mark.parametrize("n_methods", [3, 10, 11, 40, 100])
def test_all_methods_look_apart(n_methods):
    styles = method_styles([f"method {i}" for i in range(n_methods)])
    assert len(set(styles.values())) == n_methods
    assert len({style.color for style in styles.values()}) == min(n_methods, len(COLORS))
    assert len({style.marker for style in styles.values()}) == min(n_methods, len(MARKERS))
