import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fuselearn.datasets import corrupt_labels
from fuselearn.datasets.noise import scale_features

KINDS = ["uniform", "pair", "class-conditional", "boundary", "neighbor", "feature-dependent"]
FEATURE_KINDS = KINDS[3:]
fractions = st.floats(0, 1)
seeds = st.integers(0, 2**32 - 1)
class_lists = st.lists(st.sampled_from("abcd"), min_size=2, max_size=60).filter(lambda y: len(set(y)) > 1)


def changed(before, after):
    return sum(a != b for a, b in zip(before, after, strict=True))


def features_of(y, seed):
    return np.random.default_rng(seed).normal(size=(len(y), 2)).round(1)


@pytest.mark.filterwarnings("ignore:These classes have no sample left")
@settings(max_examples=30)
@given(class_lists, fractions, st.sampled_from(KINDS), seeds)
def test_exactly_that_many_rows_change_to_other_classes_present(y, fraction, kind, seed):
    noisy = corrupt_labels(y, fraction, kind, X=features_of(y, seed), random_state=seed)
    assert changed(y, noisy) == round(len(y) * fraction)
    assert set(noisy) <= set(y)


@pytest.mark.filterwarnings("ignore:These classes have no sample left")
@settings(max_examples=30)
@given(class_lists, fractions, st.sampled_from(KINDS), seeds)
def test_the_same_seed_gives_the_same_noise_in_every_container(y, fraction, kind, seed):
    original = list(y)
    X = features_of(y, seed)
    noisy = corrupt_labels(y, fraction, kind, X=X, random_state=seed)
    assert y == original
    for container in (list, tuple, np.array, pd.Series, pd.Categorical, pl.Series):
        given_y = pd.Series(pd.Categorical(y)) if container is pd.Categorical else container(y)
        again = corrupt_labels(given_y, fraction, kind, X=X, random_state=seed)
        assert type(again) is type(given_y)
        assert list(again) == noisy
        assert list(given_y) == y


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(1, 6), fractions, seeds, st.sampled_from(["uniform", "forgotten"]))
def test_exactly_that_many_labels_flip_or_are_forgotten(rows, columns, fraction, seed, kind):
    Y = np.random.default_rng(seed).integers(0, 2, size=(rows, columns))
    before = Y.copy()
    noisy = corrupt_labels(Y, fraction, kind, random_state=seed)
    assert (noisy != before).sum() == round((Y.sum() if kind == "forgotten" else Y.size) * fraction)
    assert np.isin(noisy, (0, 1)).all()
    assert kind == "uniform" or (noisy <= Y).all()
    assert (before == Y).all()
    frame = pd.DataFrame(Y, index=np.arange(rows) * 10).add_prefix("L")
    assert (corrupt_labels(frame, fraction, kind, random_state=seed).to_numpy() == noisy).all()
    assert corrupt_labels(Y.tolist(), fraction, kind, random_state=seed) == noisy.tolist()


@pytest.mark.parametrize(("n", "count"), [(50, 2), (70, 4), (90, 4), (150, 8)])
def test_halves_round_to_the_even_number(n, count):
    y = np.arange(n) % 3
    assert (corrupt_labels(y, 0.05, random_state=0) != y).sum() == count


def test_uniform_noise_reaches_every_other_class_equally_often():
    y = np.zeros(30_000, dtype=int)
    y[:3] = 1, 2, 3
    counts = np.bincount(corrupt_labels(y, 1.0, random_state=1)[3:], minlength=4)
    assert counts[0] == 0
    # Each count is binomial with mean 9999 and standard deviation 82.
    assert np.abs(counts[1:] - 9999).max() < 5 * 82


def test_pair_noise_goes_to_the_next_class_around_the_circle():
    assert corrupt_labels([3, 1, 2], 1.0, "pair") == [1, 2, 3]


def test_an_ordered_category_keeps_its_order_and_its_unused_categories():
    y = pd.Series(
        pd.Categorical(["low", "high", "mid"], categories=["low", "mid", "high", "top"]),
        index=[5, 6, 7],
        name="level",
    )
    noisy = corrupt_labels(y, 1.0, "pair")
    assert noisy.tolist() == ["mid", "low", "high"]
    assert (noisy.index == y.index).all()
    assert (noisy.name, noisy.dtype) == ("level", y.dtype)


def test_the_transition_says_who_leaves_and_where_to():
    y = np.repeat(["a", "b", "c"], 100)
    transition = [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.4, 0.6]]
    noisy = corrupt_labels(y, 0.3, "class-conditional", transition=transition, random_state=0)
    moved = noisy != y
    assert moved.sum() == 90
    assert set(noisy[moved]) == {"b"}
    assert set(y[moved]) == {"a", "c"}


def test_classes_that_leave_more_often_are_drawn_more_often():
    y = np.repeat([0, 1], 5000)
    noisy = corrupt_labels(y, 0.1, "class-conditional", transition=[[0.1, 0.9], [0.3, 0.7]], random_state=0)
    from_zero = (noisy != y)[:5000].sum()
    # 9 to 3 odds, drawn without replacement: about 3 of 4 come from class 0.
    assert 680 < from_zero < 790


@pytest.mark.parametrize(
    ("fraction", "transition", "sentence"),
    [
        (0.5, np.eye(3), r"shape \(2, 2\) for the 2 classes in y, not \(3, 3\)"),
        (0.5, [[1.5, -0.5], [0, 1]], "negative entries"),
        (0.5, [[0.5, 0.5], [0.5, 0.4]], "row 1 sums to 0.9"),
        (0.75, [[0, 1], [0, 1]], "3 samples should change, but transition allows only 2 to change"),
    ],
)
def test_a_bad_transition_is_refused(fraction, transition, sentence):
    with pytest.raises(ValueError, match=sentence):
        corrupt_labels(["a", "a", "b", "b"], fraction, "class-conditional", transition=transition)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["a", "b"], 0.5, "random"), "kind must be one of 'uniform'"),
        ((["a", "b"], 1.5), "fraction must be between 0 and 1"),
        ((["a", "b"], float("nan")), "fraction must be between 0 and 1"),
        ((["a", "a"], 0.5), "single class 'a'"),
        ((["a", None], 0.5), "missing values"),
        ((np.array([1.0, np.nan]), 0.5), "missing values"),
        ((pd.Series([1.0, None]), 0.5), "missing values"),
        (([1, "a"], 0.5), "cannot be ordered"),
        (([[0, 1], [1, 2]], 0.5), "only 0 and 1"),
        (([["a", "b"]], 0.5), "only 0 and 1"),
        (([[0, 1]], 0.5, "pair"), "needs one class per sample"),
        ((["a", "b"], 0.5, "forgotten"), "needs a multi-label y"),
        ((np.zeros((2, 2, 2)), 0.5), "one or two dimensions"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        corrupt_labels(*arguments)


def test_a_string_or_a_number_is_not_a_list_of_classes():
    for y in ("abc", 5):
        with pytest.raises(TypeError, match="y must be a list"):
            corrupt_labels(y, 0.5)
    with pytest.raises(ValueError, match="only used with kind='class-conditional'"):
        corrupt_labels(["a", "b"], 0.5, transition=np.eye(2))


def test_frames_keep_their_dtypes_index_and_names():
    Y = pd.DataFrame({"p": [True, False], "q": [0.0, 1.0], "r": [1, 1]}, index=["x", "y"])
    noisy = corrupt_labels(Y, 1.0)
    assert noisy.dtypes.equals(Y.dtypes)
    assert noisy.index.equals(Y.index)
    assert noisy.to_numpy().tolist() == [[False, 1.0, 0], [True, 0.0, 0]]


def test_polars_frames_stay_polars_frames():
    noisy = corrupt_labels(pl.DataFrame({"p": [1, 0], "q": [0, 0]}), 1.0)
    assert noisy.equals(pl.DataFrame({"p": [0, 1], "q": [1, 1]}))


def test_random_states_of_all_kinds_are_accepted():
    y = [0, 1] * 20
    for make in (lambda: 7, lambda: np.random.default_rng(7), lambda: np.random.RandomState(7)):
        first = corrupt_labels(y, 0.3, random_state=make())
        assert first == corrupt_labels(y, 0.3, random_state=make())
        assert changed(y, first) == 12
        assert {type(value) for value in first} == {int}, "elements of a list stay plain Python"


# Two classes on a line, with the distances to the nearest sample of the own and of the other class:
#   place   0    1    3    4.5  5    7
#   class   a    a    a    b    a    b
#   own     1    1    2    2.5  2    2.5
#   other   4.5  3.5  1.5  0.5  0.5  2
#   ratio   .22  .29  1.3  5    4    1.25
LINE = [[0.0], [1.0], [3.0], [4.5], [5.0], [7.0]]
LINE_CLASSES = np.array(["a", "a", "a", "b", "a", "b"])


@pytest.mark.parametrize(("count", "moved"), [(1, [3]), (2, [3, 4]), (3, [2, 3, 4]), (4, [2, 3, 4, 5])])
def test_boundary_noise_takes_the_samples_nearest_to_the_border(count, moved):
    noisy = corrupt_labels(LINE_CLASSES, count / 6, "boundary", X=LINE)
    assert np.flatnonzero(noisy != LINE_CLASSES).tolist() == moved


@pytest.mark.filterwarnings("ignore:These classes have no sample left")
def test_boundary_noise_gives_the_class_on_the_other_side():
    X, y = [[0], [1], [2], [9], [10], [30], [31]], list("aaabbcc")
    # The ratios are 1 / 9, 1 / 8, 1 / 7, 1 / 7, 1 / 8, 1 / 20, 1 / 21: c is far from everything.
    assert corrupt_labels(y, 2 / 7, "boundary", X=X) == list("aababcc")
    assert corrupt_labels(y, 1.0, "boundary", X=X) == list("bbbaabb")


def test_equal_samples_of_two_classes_are_on_the_border_and_a_lone_sample_is_not():
    X, y = [[0], [1], [1], [2], [3]], list("aabbc")
    assert corrupt_labels(y, 0.4, "boundary", X=X) == list("abaac")[:2] + list("abc")
    assert corrupt_labels(y, 0.8, "boundary", X=X)[4] == "c"


@pytest.mark.filterwarnings("ignore:These classes have no sample left")
def test_neighbor_noise_gives_the_class_of_the_nearest_sample_of_another_class():
    X, y = [[0], [1], [5], [6], [20], [21], [99], [12]], list("aabbcccd")
    assert corrupt_labels(y, 1.0, "neighbor", X=X) == list("bbaadddb")
    rng = np.random.default_rng(0)
    places, classes = rng.normal(size=(300, 2)), rng.integers(3, size=300)
    moved = corrupt_labels(classes, 0.2, "neighbor", X=places, random_state=0) != classes
    assert not np.array_equal(moved, corrupt_labels(classes, 0.2, "neighbor", X=places, random_state=1) != classes)
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    distances[classes[:, None] == classes] = np.inf
    expected = np.where(moved, classes[distances.argmin(axis=1)], classes)
    # Both features have nearly the same spread, so that scaling changes few of the neighbors.
    noisy = corrupt_labels(classes, 0.2, "neighbor", X=places, random_state=0)
    assert (noisy != expected).mean() < 0.02


def test_features_are_scaled_before_distances_are_measured():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    for kind in FEATURE_KINDS:
        noisy = corrupt_labels(y, 0.3, kind, X=X, random_state=0)
        assert np.array_equal(noisy, corrupt_labels(y, 0.3, kind, X=X * [1e3, 1e-3, 1e200] + 5, random_state=0))


def test_feature_dependent_noise_is_spread_as_the_formula_says():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20_000, 1)), np.zeros(20_000, dtype=int)
    y[:3] = 0, 1, 2
    moved = corrupt_labels(y, 0.05, "feature-dependent", X=X, random_state=0) != y
    # With one feature, x.w is x, or -x; the mean of sigmoid(2x) is 1/2.
    sign = 1 if moved[X[:, 0] > 0].mean() > 0.05 else -1
    chance = 0.1 / (1 + np.exp(-2 * sign * X[:, 0]))
    for left in (-9.0, -1.0, 0.0, 1.0):
        part = (X[:, 0] > left) & (X[:, 0] <= left + (8 if left == -9 else 1))
        assert abs(moved[part].mean() - chance[part].mean()) < 4 * np.sqrt(0.1 / part.sum())


def test_feature_dependent_noise_prefers_some_classes_in_some_places():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(9000, 2)), rng.integers(3, size=9000)
    noisy = corrupt_labels(y, 0.3, "feature-dependent", X=X, random_state=3)
    for c in range(3):
        moved = (y == c) & (noisy != c)
        angles = np.arctan2(X[moved, 1], X[moved, 0]) // (np.pi / 2)
        shares = [np.mean(noisy[moved][angles == quarter] == (c + 1) % 3) for quarter in np.unique(angles)]
        assert max(shares) - min(shares) > 0.3


def test_features_may_be_categories_and_may_be_missing():
    X = pd.DataFrame(
        {
            "colour": pd.Categorical(["red", "red", "blue", "blue", None, "red"]),
            "size": [1.0, None, 3.0, 4.0, 5.0, 6.0],
            "note": ["x", "y", "x", None, "y", "x"],
            "empty": [np.nan] * 6,
            "constant": [0.1] * 6,
        }
    )
    for kind in FEATURE_KINDS:
        for table in (X, pl.from_pandas(X)):
            assert changed("ababab", corrupt_labels(list("ababab"), 0.5, kind, X=table, random_state=0)) == 3


def test_different_categories_are_as_far_apart_as_one_standard_deviation():
    scaled = scale_features(pd.DataFrame({"kind": ["u", "v", "w"], "size": [1.0, 3.0, 2.0]}))
    assert np.allclose(np.linalg.norm(scaled[0, :3] - scaled[1, :3]), 1.0)
    assert np.allclose(scaled[:, 3], [-np.sqrt(1.5), np.sqrt(1.5), 0.0])
    assert scale_features([[0.1], [0.1], [0.1]]).tolist() == [[0.0], [0.0], [0.0]]


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (None, "kind='boundary' depends on the features: pass X"),
        ([[1.0], [2.0], [3.0]], "inconsistent numbers of samples: 3 and 2"),
        ([1.0, 2.0], r"X must have shape \(n_samples, n_features\)"),
        ([["a"], ["b"]], "X must be a numeric array, or a DataFrame"),
        ([[1.0], [np.inf]], "infinite values"),
        (sparse.eye(2), "sparse"),
    ],
)
def test_unfit_features_get_a_sentence(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        corrupt_labels(["a", "b"], 0.5, "boundary", X=X)


def test_a_class_does_not_vanish_silently():
    with pytest.warns(UserWarning, match="These classes have no sample left: 'c'"):
        corrupt_labels(list("aaabbbc"), 1.0, "neighbor", X=[[0], [1], [2], [3], [4], [5], [9]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corrupt_labels(list("aabb"), 1.0, "pair")
