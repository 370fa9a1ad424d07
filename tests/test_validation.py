"""Checks of parameters, targets and weights that all classifiers share."""

import numpy as np
import pandas as pd
import pytest

from fuselearn import FusedClassifier, KFHEClassifier, SVMClassifier
from fuselearn._parameters import check_choice, check_number, check_whole_number, make_generator
from fuselearn.base import read_weights, reset_on_failure
from fuselearn.ensembles.ensemble import guessing_error
from fuselearn.learners import are_counts
from fuselearn.multilabel import HOMERClassifier, PCTForestClassifier


class TestParameters:
    def test_whole_numbers(self):
        for value in [1, np.int64(5), np.uint8(3)]:
            assert check_whole_number("n", value, 1) == value

    def test_what_is_no_whole_number_is_refused_by_name(self):
        for value, error in [(0, ValueError), (1.0, TypeError), ("3", TypeError), (True, TypeError)]:
            with pytest.raises(error, match=r"^n_estimators must be"):
                check_whole_number("n_estimators", value, 1)

    def test_numbers(self):
        for value in [0, 0.5, np.float32(2)]:
            assert check_number("noise", value, 0.0) == value

    def test_what_is_no_such_number_is_refused_by_name(self):
        for value, error in [
            (-0.1, ValueError),
            (np.nan, ValueError),
            (np.inf, ValueError),
            (None, TypeError),
            ("1", TypeError),
        ]:
            with pytest.raises(error, match=r"^noise must be"):
                check_number("noise", value, 0.0)

    def test_choices_are_listed(self):
        for value in ["c", None, 3, ["a"]]:
            assert check_choice("vote", "a", ("a", "b")) == "a"
            with pytest.raises(ValueError, match=r"^vote must be 'a' or 'b', not"):
                check_choice("vote", value, ("a", "b"))


class TestWeights:
    def test_none_means_equal(self):
        assert read_weights(None, 3) is None

    def test_any_container(self):
        for given in [[1, 2, 3], np.array([1.0, 2.0, 3.0]), pd.Series([1, 2, 3])]:
            np.testing.assert_array_equal(read_weights(given, 3), [1.0, 2.0, 3.0])

    @pytest.mark.filterwarnings("ignore:overflow")
    def test_impossible_weights_are_refused_by_name(self):
        for weights in [
            [1, 2],
            [0, 0, 0],
            [1, -1, 1],
            [1, np.nan, 1],
            [1, np.inf, 1],
            [1.7e308, 1.7e308, 1.0],
            [[1], [2], [3]],
        ]:
            with pytest.raises(ValueError, match=r"(?i)sample.weight"):
                read_weights(weights, 3)

    def test_counts_are_whole_numbers(self):
        assert are_counts(np.array([0.0, 1.0, 7.0]))
        assert not are_counts(np.array([0.0, 1.5]))
        assert not are_counts(np.array([2.0**31]))


class TestGenerator:
    def test_the_same_seed_gives_the_same_numbers(self):
        for make in (int, np.int64, np.random.RandomState, np.random.default_rng):
            one, other = (make_generator(make(7)).random(3) for _ in range(2))
            np.testing.assert_array_equal(one, other)

    def test_a_generator_goes_on_where_it_was(self):
        rng = np.random.default_rng(0)
        assert make_generator(rng) is rng

    def test_none_differs_every_time(self):
        assert make_generator(None).random() != make_generator(None).random()

    def test_what_is_no_seed_is_refused(self):
        for bad in ("seed", -1, 1.5):
            with pytest.raises(ValueError, match=r"(?i)seed"):
                make_generator(bad)


class TestResetOnFailure:
    class Thing:
        def __init__(self):
            self.parameter = 1

        @reset_on_failure
        def fit(self, X, error=None):
            """Fit."""
            self.half_ = self._hidden_ = True
            if error is not None:
                raise error
            return self

    @pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit()])
    def test_a_fit_that_fails_leaves_nothing(self, error):
        thing = self.Thing().fit([[1], [2]])
        with pytest.raises(type(error)):
            thing.fit([[1], [2]], error)
        assert vars(thing) == {"parameter": 1}

    def test_a_fit_that_succeeds_leaves_everything_and_the_number_of_samples(self):
        fitted = {"parameter": 1, "half_": True, "_hidden_": True, "_n_rows_": 2}
        assert vars(self.Thing().fit([[1], [2]])) == vars(self.Thing().fit(X=np.zeros((2, 3)))) == fitted
        assert self.Thing.fit.__doc__ == "Fit."


def test_guessing_gets_one_class_of_many_right():
    for n_classes in [2, 3, 7]:
        assert guessing_error(n_classes) == pytest.approx(1 - 1 / n_classes)
        n = 10 * n_classes
        accumulated = sum([1 / n] * (n - 10))
        assert accumulated >= guessing_error(n_classes) > accumulated - 1 / n


TEXTS = np.array([["red", 1.0], ["blue", 2.0]] * 10, dtype=object)


@pytest.mark.parametrize("X", [TEXTS, TEXTS.astype(str), TEXTS.tolist()], ids=["objects", "text", "list"])
@pytest.mark.parametrize(
    "model",
    [
        KFHEClassifier(n_estimators=2),
        SVMClassifier(),
        FusedClassifier(random_state=0),
        HOMERClassifier(),
        PCTForestClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_array_of_text_is_a_hint_to_pass_a_frame(model, X):
    y = np.array([0, 1] * 10)
    Y = np.column_stack([y, 1 - y]) if model.__module__.startswith("fuselearn.multilabel") else y
    with pytest.raises(ValueError, match=r"contains the string 'red'.* Pass a DataFrame instead: its string columns"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match=r"'red'.* Pass a DataFrame"):
        model.fit(np.arange(40.0).reshape(20, 2), Y).predict(X)
