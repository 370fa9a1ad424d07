"""The classifier of codewords: scikit-learn's contract, any learner, wrong bits corrected, bad input refused."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fuselearn import CARTClassifier
from fuselearn.codes import ErrorCorrectingCodeClassifier, exhaustive_code, min_distance

X, y = load_iris(return_X_y=True)
DECODINGS = ("l1", "hamming", "loss")
every_decoding = pytest.mark.parametrize("decoding", DECODINGS)


class UnreliableBit(ClassifierMixin, BaseEstimator):
    """Learn which classes mean 1 from the column with the class's number, and answer wrongly at some rate."""

    def __init__(self, error_rate=0.0, random_state=None):
        self.error_rate = error_rate
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.bits_ = dict(zip(X[:, 0], y, strict=True))
        return self

    def predict(self, X):
        bits = np.array([self.bits_[number] for number in X[:, 0]])
        wrong = np.random.default_rng(self.random_state).random(len(X)) < self.error_rate
        return np.where(wrong, 1 - bits, bits)


class TestCorrection:
    """Learners that are right but for a known share of their answers."""

    numbers = np.repeat(np.arange(10.0), 100)[:, None]

    def accuracy(self, error_rate, **settings):
        model = ErrorCorrectingCodeClassifier(UnreliableBit(error_rate), random_state=0, **settings)
        return model.fit(self.numbers, self.numbers.ravel()).score(self.numbers, self.numbers.ravel())

    @every_decoding
    def test_without_errors(self, decoding):
        assert self.accuracy(0.0, n_bits=4, code="hamming", decoding=decoding) == 1.0

    def test_four_bits_correct_nothing(self):
        assert self.accuracy(0.1, n_bits=4, code="hamming") == pytest.approx(0.9**4, abs=0.06)

    @every_decoding
    def test_more_bits_correct_more(self, decoding):
        scores = [self.accuracy(0.2, n_bits=n_bits, code="hamming", decoding=decoding) for n_bits in (4, 10, 34, 100)]
        assert (np.diff(scores) > 0).all()
        assert scores[-1] > 0.999

    def test_far_codewords_correct_more_than_random_ones(self):
        far, drawn = (self.accuracy(0.25, n_bits=20, code=code) for code in ("hamming", "random"))
        assert far > drawn + 0.02


class TestCodeBooks:
    def fit(self, n_classes=3, **settings):
        rows = np.repeat(np.arange(float(n_classes)), 8)[:, None]
        tree = CARTClassifier(min_samples_split=2)
        return ErrorCorrectingCodeClassifier(tree, random_state=0, **settings).fit(rows, rows.ravel())

    @pytest.mark.parametrize(
        ("n_classes", "n_bits", "distance"), [(2, 1, 1), (3, 3, 2), (4, 7, 4), (5, 15, 8), (6, 26, 14), (10, 34, 18)]
    )
    def test_auto_is_exhaustive_for_few_classes(self, n_classes, n_bits, distance):
        model = self.fit(n_classes)
        assert model.code_book_.shape == (n_classes, n_bits)
        assert model.min_distance_ == min_distance(model.code_book_) == distance

    def test_exhaustive_on_demand(self):
        np.testing.assert_array_equal(self.fit(7, code="exhaustive").code_book_, exhaustive_code(7))

    @pytest.mark.parametrize("code", ["auto", "hamming", "random"])
    def test_bits_on_demand(self, code):
        assert self.fit(8, code=code, n_bits=5).code_book_.shape == (8, 5)

    def test_a_book_of_ones_own(self):
        model = self.fit(3, code=2 * np.eye(3, dtype=int) - 1)
        np.testing.assert_array_equal(model.code_book_, np.eye(3))
        assert model.min_distance_ == 2
        assert model.score([[0.0], [1.0], [2.0]], [0, 1, 2]) == 1.0

    def test_one_bit_per_class_is_one_against_the_rest(self):
        model = ErrorCorrectingCodeClassifier(GaussianNB(), code=np.eye(3)).fit(X, y)
        scores = np.column_stack([GaussianNB().fit(X, y == c).predict_proba(X)[:, 1] for c in range(3)])
        np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))

    def test_rows_of_the_book_follow_the_sorted_classes(self):
        names = np.array(["c", "a", "b"])[y]
        code = np.array([[0, 0], [0, 1], [1, 0]])
        model = ErrorCorrectingCodeClassifier(GaussianNB(), code=code).fit(X, names)
        assert model.classes_.tolist() == ["a", "b", "c"]
        bits = model.estimators_[0].predict(X)
        assert np.mean(bits == (names == "c")) > 0.9

    @pytest.mark.parametrize("constant", [0, 1])
    @every_decoding
    def test_constant_columns_change_nothing(self, constant, decoding):
        code = exhaustive_code(3)
        longer = np.column_stack([code, np.full(3, constant)])
        plain, padded = (
            ErrorCorrectingCodeClassifier(GaussianNB(), code=book, decoding=decoding).fit(X, y)
            for book in (code, longer)
        )
        np.testing.assert_array_equal(padded.predict(X), plain.predict(X))
        np.testing.assert_array_equal(padded.predict_bits(X)[:, 3], constant)

    def test_bits_that_are_constant_where_weights_are_positive(self):
        weights = (y != 2).astype(float)
        for base in (None, LogisticRegression()):
            model = ErrorCorrectingCodeClassifier(base, code=np.eye(3)).fit(X, y, sample_weight=weights)
            assert (model.predict_bits(X)[:, 2] == 0).all()
            assert set(model.predict(X)) == {0, 1}


class TestLearners:
    @every_decoding
    @pytest.mark.parametrize(
        "estimator",
        [
            None,
            GaussianNB(),
            KNeighborsClassifier(),
            LinearSVC(),
            make_pipeline(StandardScaler(), LogisticRegression()),
        ],
        ids=lambda e: type(e).__name__,
    )
    def test_any_classifier_will_do(self, estimator, decoding):
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        model = ErrorCorrectingCodeClassifier(estimator, decoding=decoding, random_state=0).fit(X, names)
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
        assert model.score(X, names) > 0.7  # one bit of three is out of reach of linear learners

    def test_two_classes_keep_the_probabilities_of_their_learner(self):
        expected = GaussianNB().fit(X[:100], y[:100]).predict_proba(X)
        for decoding in ("l1", "hamming", "loss"):
            model = ErrorCorrectingCodeClassifier(GaussianNB(), decoding=decoding).fit(X[:100], y[:100])
            np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))
            if decoding != "hamming":
                np.testing.assert_allclose(model.predict_proba(X), expected, atol=0.01)

    def test_trees_and_their_bits(self):
        model = ErrorCorrectingCodeClassifier().fit(X, y)
        for bit, tree in enumerate(model.estimators_):
            assert isinstance(tree, CARTClassifier)
            assert tree.classes_.tolist() == [0, 1]
            np.testing.assert_allclose(tree.predict_proba(X)[:, 1], model.predict_bits(X)[:, bit])
            alone = CARTClassifier().fit(X, model.code_book_[y, bit])
            np.testing.assert_allclose(tree.predict_proba(X), alone.predict_proba(X))

    def test_other_learners_and_their_bits(self):
        model = ErrorCorrectingCodeClassifier(GaussianNB()).fit(X, y)
        expected = np.column_stack([nb.predict_proba(X)[:, 1] for nb in model.estimators_])
        np.testing.assert_allclose(model.predict_bits(X), expected)

    def test_probabilities_of_codes_are_less_sure_of_themselves_than_likelihoods(self):
        """Bits are not independent, so their product overstates what they know."""
        digits = load_digits()
        rng = np.random.default_rng(0)
        data = digits.data + rng.normal(scale=3.0, size=digits.data.shape)
        train, test, y_train, y_test = train_test_split(data, digits.target, random_state=0)
        losses = {
            decoding: log_loss(
                y_test,
                ErrorCorrectingCodeClassifier(decoding=decoding, n_bits=20, random_state=0)
                .fit(train, y_train)
                .predict_proba(test),
            )
            for decoding in ("l1", "loss")
        }
        assert losses["l1"] < losses["loss"]


class TestBadInput:
    def refuse(self, error, match, data=X, target=y, **settings):
        model = ErrorCorrectingCodeClassifier(**settings)
        with pytest.raises(error, match=match):
            model.fit(data, target)
        with pytest.raises(NotFittedError):
            model.predict(data)

    def test_sizes(self):
        self.refuse(ValueError, "n_bits must be at least 2 to tell 3 classes apart, not 1", n_bits=1)
        self.refuse(ValueError, "n_bits must be at most 3", n_bits=4)
        self.refuse(
            ValueError, "n_bits is 2, but an exhaustive code for 3 classes has 3 bits", code="exhaustive", n_bits=2
        )
        self.refuse(ValueError, "n_bits is 2, but the given code has 3 bits", code=np.eye(3), n_bits=2)
        many = np.repeat(np.arange(20.0), 2)
        self.refuse(ValueError, "2 to 13 classes", many[:, None], many, code="exhaustive")

    def test_books(self):
        self.refuse(ValueError, "equal rows, 0 and 2", code=[[0, 1], [1, 0], [0, 1]])
        self.refuse(ValueError, r"a row for each of the 3 classes .* not shape \(4, 4\)", code=np.eye(4))
        self.refuse(ValueError, "only 0 and 1", code=np.full((3, 2), 7))
