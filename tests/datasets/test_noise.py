import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn.datasets import corrupt_labels

KINDS = ["uniform", "pair", "class-conditional"]
fractions = st.floats(0, 1)
seeds = st.integers(0, 2**32 - 1)
class_lists = st.lists(st.sampled_from("abcd"), min_size=2, max_size=60).filter(lambda y: len(set(y)) > 1)


def changed(before, after):
    return sum(a != b for a, b in zip(before, after, strict=True))


@given(class_lists, fractions, st.sampled_from(KINDS), seeds)
def test_exactly_that_many_rows_change_to_other_classes_present(y, fraction, kind, seed):
    noisy = corrupt_labels(y, fraction, kind, random_state=seed)
    assert changed(y, noisy) == round(len(y) * fraction)
    assert set(noisy) <= set(y)


@given(class_lists, fractions, st.sampled_from(KINDS), seeds)
def test_the_same_seed_gives_the_same_noise_in_every_container(y, fraction, kind, seed):
    original = list(y)
    noisy = corrupt_labels(y, fraction, kind, random_state=seed)
    assert y == original
    for container in (list, tuple, np.array, pd.Series, pd.Categorical, pl.Series):
        given_y = pd.Series(pd.Categorical(y)) if container is pd.Categorical else container(y)
        again = corrupt_labels(given_y, fraction, kind, random_state=seed)
        assert type(again) is type(given_y)
        assert list(again) == noisy
        assert list(given_y) == y


@given(st.integers(1, 12), st.integers(1, 6), fractions, seeds)
def test_exactly_that_many_cells_flip(rows, columns, fraction, seed):
    Y = np.random.default_rng(seed).integers(0, 2, size=(rows, columns))
    before = Y.copy()
    noisy = corrupt_labels(Y, fraction, random_state=seed)
    assert (noisy != before).sum() == round(rows * columns * fraction)
    assert np.isin(noisy, (0, 1)).all()
    assert (before == Y).all()
    frame = pd.DataFrame(Y, index=np.arange(rows) * 10).add_prefix("L")
    assert (corrupt_labels(frame, fraction, random_state=seed).to_numpy() == noisy).all()
    assert corrupt_labels(Y.tolist(), fraction, random_state=seed) == noisy.tolist()


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


def test_a_transition_that_lets_too_few_rows_leave_is_refused():
    with pytest.raises(ValueError, match="3 samples should change, but transition lets only 2 leave"):
        corrupt_labels(["a", "a", "b", "b"], 0.75, "class-conditional", transition=[[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("transition", "sentence"),
    [
        (np.eye(3), r"shape \(2, 2\) for the 2 classes in y, not \(3, 3\)"),
        ([[1.5, -0.5], [0, 1]], "negative entries"),
        ([[0.5, 0.5], [0.5, 0.4]], "row 1 sums to 0.9"),
    ],
)
def test_a_bad_transition_is_refused(transition, sentence):
    with pytest.raises(ValueError, match=sentence):
        corrupt_labels(["a", "b"], 0.5, "class-conditional", transition=transition)


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
        ((np.zeros((2, 2, 2)), 0.5), "one or two dimensions"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        corrupt_labels(*arguments)


def test_a_transition_needs_its_kind():
    with pytest.raises(ValueError, match="only used with kind='class-conditional'"):
        corrupt_labels(["a", "b"], 0.5, transition=np.eye(2))


def test_a_string_or_a_number_is_not_a_list_of_classes():
    for y in ("abc", 5):
        with pytest.raises(TypeError, match="y must be a list"):
            corrupt_labels(y, 0.5)


def test_frames_keep_their_dtypes_index_and_names():
    Y = pd.DataFrame({"p": [True, False], "q": [0.0, 1.0], "r": [1, 1]}, index=["x", "y"])
    noisy = corrupt_labels(Y, 1.0)
    assert noisy.dtypes.equals(Y.dtypes)
    assert noisy.index.equals(Y.index)
    assert noisy.to_numpy().tolist() == [[False, 1.0, 0], [True, 0.0, 0]]


def test_polars_frames_stay_polars_frames():
    Y = pl.DataFrame({"p": [1, 0], "q": [0, 0]})
    noisy = corrupt_labels(Y, 1.0)
    assert noisy.equals(pl.DataFrame({"p": [0, 1], "q": [1, 1]}))


def test_random_states_of_all_kinds_are_accepted():
    y = [0, 1] * 20
    for make in (lambda: 7, lambda: np.random.default_rng(7), lambda: np.random.RandomState(7)):
        first = corrupt_labels(y, 0.3, random_state=make())
        assert first == corrupt_labels(y, 0.3, random_state=make())
        assert changed(y, first) == 12


def test_list_elements_stay_plain_python():
    assert {type(value) for value in corrupt_labels([1, 2, 3] * 5, 0.5, random_state=0)} == {int}
