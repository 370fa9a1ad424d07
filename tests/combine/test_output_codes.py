"""Output codes: decoding by hand, as many wrong bits corrected as promised, any learner, bad input refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.combine import ErrorCorrectingCodeClassifier, make_code
from fuselearn.combine.code_books import exhaustive_code, min_distance
from fuselearn.combine.output_codes import class_probabilities, codeword_distances

X, y = load_iris(return_X_y=True)
every_decoding = pytest.mark.parametrize("decoding", ["l1", "hamming", "loss"])


CODE = np.array([[0, 0, 0, 0], [0, 1, 1, 1], [1, 1, 0, 0]], dtype=np.int8)
BITS = np.array([[0.2, 0.9, 0.4, 0.5]])
LIKELIHOODS = np.array([0.8 * 0.1 * 0.6 * 0.5, 0.8 * 0.9 * 0.4 * 0.5, 0.2 * 0.9 * 0.6 * 0.5])


class TestDistances:
    @pytest.mark.parametrize(
        ("decoding", "expected"),
        [
            ("l1", [2.0, 0.2 + 0.1 + 0.6 + 0.5, 0.8 + 0.1 + 0.4 + 0.5]),
            ("hamming", [1.5, 1.5, 1.5]),  # one half counts as half wrong
            ("loss", -np.log(LIKELIHOODS)),
        ],
    )
    def test_by_hand(self, decoding, expected):
        np.testing.assert_allclose(codeword_distances(BITS, CODE, decoding), [expected])

    def test_l1_is_the_sum_of_absolute_differences(self):
        bits, code = np.random.default_rng(0).random((30, 15)), exhaustive_code(5)
        np.testing.assert_allclose(codeword_distances(bits, code), np.abs(code - bits[:, None]).sum(axis=2))

    def test_certainty_is_limited(self):
        limited = codeword_distances(np.ones((1, 4)), CODE, "loss", least_probability=0.01)
        np.testing.assert_allclose(limited, [[4 * -np.log(0.01), -np.log(0.01) - 3 * np.log(0.99), 9.23044]], rtol=1e-5)


class TestProbabilities:
    def test_by_hand(self):
        probabilities = class_probabilities(codeword_distances(BITS, CODE, "loss"), 4, "loss")
        np.testing.assert_allclose(probabilities, [LIKELIHOODS / LIKELIHOODS.sum()])
        # One bit of five is wrong at best: e = 1.5 / 6, odds 1 to 3 per further wrong bit.
        np.testing.assert_allclose(class_probabilities(np.array([[1.0, 2.0, 3.0]]), 5), [[9 / 13, 3 / 13, 1 / 13]])

    def test_a_single_bit_keeps_its_probability(self):
        distances = codeword_distances(np.array([[0.3], [1.0]]), np.array([[0], [1]], dtype=np.int8))
        np.testing.assert_allclose(class_probabilities(distances, 1), [[0.7, 0.3], [0.0, 1.0]])

    def test_the_further_from_every_codeword_the_more_even(self):
        probabilities = class_probabilities(np.array([[0.0, 4.0], [1.0, 5.0], [2.0, 6.0]]), 10)
        assert (np.diff(probabilities[:, 0]) < 0).all()

    @every_decoding
    @given(st.integers(2, 6), st.integers(0, 10_000))
    def test_the_nearest_codeword_is_the_most_likely(self, decoding, n_classes, seed):
        rng = np.random.default_rng(seed)
        bits = rng.random((20, 2 ** (n_classes - 1) - 1)) ** rng.integers(1, 9)
        distances = codeword_distances(bits, exhaustive_code(n_classes), decoding)
        probabilities = class_probabilities(distances, bits.shape[1], decoding)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        assert (probabilities >= 0).all()
        np.testing.assert_array_equal(probabilities.argmax(axis=1), distances.argmin(axis=1))

    def test_bits_that_no_codeword_explains(self):
        """More than half of the bits can be wrong for every class if few bits split the classes unevenly."""
        distances = codeword_distances(np.ones((1, 3)), np.eye(4, dtype=np.int8)[:, :3])
        assert distances.min() == 2.0
        probabilities = class_probabilities(distances, 3)
        assert probabilities[0, 3] < probabilities[0, 0] < 0.5

    @pytest.mark.parametrize("decoding", ["l1", "loss"])
    def test_distances_that_differ_by_rounding_are_equal(self, decoding):
        distances = np.array([[0.3 + 1e-15, 0.1 + 0.2, 0.3, 0.4], [5e-16, 0.0, 1.0, 1e-9]])
        probabilities = class_probabilities(distances, 7, decoding)
        assert probabilities[0, 0] == probabilities[0, 1] == probabilities[0, 2] > probabilities[0, 3]
        assert probabilities[1, 0] == probabilities[1, 1] > probabilities[1, 3]


CODES = (
    exhaustive_code(4),
    exhaustive_code(7),
    *(make_code(*size, kind="hamming", n_restarts=2, random_state=0) for size in ((10, 34), (26, 40))),
)
every_code = pytest.mark.parametrize("code", CODES, ids=lambda code: "{}x{}".format(*code.shape))


class TestCorrection:
    @pytest.mark.parametrize("decoding", ["l1", "hamming"])
    @every_code
    def test_as_many_wrong_bits_as_promised_are_always_corrected(self, code, decoding):
        rng = np.random.default_rng(0)
        classes = np.repeat(np.arange(len(code)), 50)
        for n_wrong in range((min_distance(code) - 1) // 2 + 1):
            wrong = np.argsort(rng.random(code[classes].shape), axis=1) < n_wrong
            bits = np.where(wrong, 1 - code[classes], code[classes]).astype(float)
            np.testing.assert_array_equal(codeword_distances(bits, code, decoding).argmin(axis=1), classes)

    @pytest.mark.parametrize("code", CODES[:2], ids=lambda code: "{}x{}".format(*code.shape))
    def test_one_wrong_bit_more_is_not(self, code):
        """Half of the bits in which two codewords differ are enough to leave the choice open."""
        first, second = code[0].astype(float), code[1]
        halfway = np.flatnonzero(first != second)[: min_distance(code) // 2]
        first[halfway] = second[halfway]
        distances = codeword_distances(first[None], code)[0]
        assert distances[0] == distances[1]

    @pytest.mark.parametrize("error_rate", [0.05, 0.15, 0.25])
    @every_code
    def test_with_a_bit_error_rate_accuracy_is_at_least_what_the_distance_promises(self, code, error_rate):
        rng = np.random.default_rng(1)
        classes = np.repeat(np.arange(len(code)), 2_000)
        wrong = rng.random(code[classes].shape) < error_rate
        bits = np.where(wrong, 1 - code[classes], code[classes]).astype(float)
        accuracy = np.mean(codeword_distances(bits, code).argmin(axis=1) == classes)
        promised = binom.cdf((min_distance(code) - 1) // 2, code.shape[1], error_rate)
        assert accuracy >= promised - 3 * np.sqrt(0.25 / len(classes))


class UnreliableBit(ClassifierMixin, BaseEstimator):
    """Learn which classes mean 1 from the feature with the class's index, and predict wrongly at some rate."""

    def __init__(self, error_rate=0.0, random_state=None):
        self.error_rate = error_rate
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.bits_ = dict(zip(X[:, 0], y, strict=True))
        return self

    def predict(self, X):
        bits = np.array([self.bits_[index] for index in X[:, 0]])
        wrong = np.random.default_rng(self.random_state).random(len(X)) < self.error_rate
        return np.where(wrong, 1 - bits, bits)


class TestUnreliableLearners:
    indices = np.repeat(np.arange(10.0), 100)[:, None]

    def accuracy(self, error_rate, n_bits, code="hamming", **settings):
        model = ErrorCorrectingCodeClassifier(
            UnreliableBit(error_rate), n_bits=n_bits, code=code, random_state=0, **settings
        )
        return model.fit(self.indices, self.indices.ravel()).score(self.indices, self.indices.ravel())

    @every_decoding
    def test_more_bits_correct_more(self, decoding):
        assert self.accuracy(0.0, 4, decoding=decoding) == 1.0
        scores = [self.accuracy(0.2, n_bits, decoding=decoding) for n_bits in (4, 10, 34, 100)]
        assert (np.diff(scores) > 0).all()
        assert scores[-1] > 0.999

    def test_four_bits_correct_nothing(self):
        assert self.accuracy(0.1, 4) == pytest.approx(0.9**4, abs=0.06)

    def test_far_codewords_correct_more_than_random_ones(self):
        assert self.accuracy(0.25, 20) > self.accuracy(0.25, 20, "random") + 0.02


class TestCodes:
    def fit(self, n_classes=3, **settings):
        samples = np.repeat(np.arange(float(n_classes)), 8)[:, None]
        tree = CARTClassifier(min_samples_split=2)
        return ErrorCorrectingCodeClassifier(tree, random_state=0, **settings).fit(samples, samples.ravel())

    @pytest.mark.parametrize(
        ("n_classes", "n_bits", "distance"), [(2, 1, 1), (3, 3, 2), (4, 7, 4), (5, 15, 8), (6, 26, 14), (10, 34, 18)]
    )
    def test_auto_is_exhaustive_for_few_classes(self, n_classes, n_bits, distance):
        model = self.fit(n_classes)
        assert model.code_book_.shape == (n_classes, n_bits)
        assert model.min_distance_ == min_distance(model.code_book_) == distance

    @pytest.mark.parametrize("code", ["auto", "hamming", "random"])
    def test_bits_on_demand(self, code):
        assert self.fit(8, code=code, n_bits=5).code_book_.shape == (8, 5)

    def test_a_book_of_ones_own(self):
        model = self.fit(3, code=2 * np.eye(3, dtype=int) - 1)
        np.testing.assert_array_equal(model.code_book_, np.eye(3))
        assert model.min_distance_ == 2
        assert model.score([[0.0], [1.0], [2.0]], [0, 1, 2]) == 1.0

    def test_rows_of_the_book_follow_the_sorted_classes(self):
        names = np.array(["c", "a", "b"])[y]
        model = ErrorCorrectingCodeClassifier(GaussianNB(), code=[[0, 0], [0, 1], [1, 0]]).fit(X, names)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert np.mean(model.estimators_[0].predict(X) == (names == "c")) > 0.9

    @pytest.mark.parametrize("constant", [0, 1])
    @every_decoding
    def test_constant_columns_change_nothing(self, constant, decoding):
        longer = np.column_stack([exhaustive_code(3), np.full(3, constant)])
        plain, padded = (
            ErrorCorrectingCodeClassifier(GaussianNB(), code=book, decoding=decoding).fit(X, y)
            for book in (exhaustive_code(3), longer)
        )
        np.testing.assert_array_equal(padded.predict(X), plain.predict(X))
        np.testing.assert_array_equal(padded.predict_bits(X)[:, 3], constant)

    @pytest.mark.parametrize("base", [None, LogisticRegression()])
    def test_bits_that_are_constant_where_weights_are_positive(self, base):
        model = ErrorCorrectingCodeClassifier(base, code=np.eye(3)).fit(X, y, sample_weight=(y != 2).astype(float))
        assert (model.predict_bits(X)[:, 2] == 0).all()
        assert set(model.predict(X)) == {0, 1}


class TestReductions:
    """One-versus-rest, one-versus-one and nested dichotomies are codes."""

    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16, y[:400]

    @pytest.mark.parametrize("base", [GaussianNB(var_smoothing=1.0), LogisticRegression()])
    def test_one_versus_rest_is_that_of_scikit_learn(self, base):
        model = ErrorCorrectingCodeClassifier(base, code="one-vs-rest").fit(self.X[:200], self.y[:200])
        expected = OneVsRestClassifier(base).fit(self.X[:200], self.y[:200])
        np.testing.assert_array_equal(model.predict(self.X), expected.predict(self.X))
        bits = np.column_stack([member.predict_proba(self.X)[:, 1] for member in expected.estimators_])
        np.testing.assert_allclose(model.predict_bits(self.X), bits)

    @pytest.mark.parametrize("base", [GaussianNB(var_smoothing=1.0), LogisticRegression()])
    def test_one_versus_one_counts_the_votes_of_scikit_learn(self, base):
        model = ErrorCorrectingCodeClassifier(base, code="one-vs-one", decoding="hamming")
        model.fit(self.X[:200], self.y[:200])
        expected = OneVsOneClassifier(base).fit(self.X[:200], self.y[:200])
        bits = np.column_stack([member.predict_proba(self.X)[:, 1] for member in expected.estimators_])
        np.testing.assert_allclose(model.predict_bits(self.X), bits)
        votes = np.round(expected.decision_function(self.X))  # what breaks ties is below one half
        np.testing.assert_array_equal(9 + model.decision_function(self.X), votes)
        decided = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
        np.testing.assert_array_equal(model.predict(self.X)[decided], expected.predict(self.X)[decided])

    @pytest.mark.parametrize("base", [None, SVMClassifier(scaling=None, gamma=0.5), KNeighborsClassifier()])
    def test_a_pair_is_learned_from_its_samples_only(self, base):
        model = ErrorCorrectingCodeClassifier(base, code="one-vs-one", random_state=0)
        bits = model.fit(X, y).predict_bits(X)
        others = model.fit(np.where((y == 2)[:, None], -X, X), y).predict_bits(X)  # no sample of class 0 or 1 differs
        np.testing.assert_allclose(others[:, 0], bits[:, 0])
        assert not np.allclose(others[:, 1], bits[:, 1])

    def test_nested_dichotomies_multiply_their_probabilities(self):
        book = [[1, 0], [-1, 1], [-1, -1]]
        model = ErrorCorrectingCodeClassifier(LogisticRegression(C=0.1), code=book, decoding="loss").fit(X, y)
        np.testing.assert_array_equal(model.code_book_, book)
        first = LogisticRegression(C=0.1).fit(X, y == 0).predict_proba(X)[:, 1]
        second = LogisticRegression(C=0.1).fit(X[y > 0], y[y > 0] == 1).predict_proba(X)[:, 1]
        expected = np.column_stack([first, (1 - first) * second, (1 - first) * (1 - second)])
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=0.01)  # certainty is limited

    @pytest.mark.parametrize("code", ["one-vs-rest", "one-vs-one"])
    def test_two_classes_are_one_bit(self, code):
        model = ErrorCorrectingCodeClassifier(GaussianNB(), code=code).fit(X[:100], y[:100])
        np.testing.assert_allclose(
            model.predict_proba(X), GaussianNB().fit(X[:100], y[:100]).predict_proba(X), atol=1e-12
        )

    def test_pairs_without_a_sample_of_positive_weight(self):
        model = ErrorCorrectingCodeClassifier(GaussianNB(), code="one-vs-one", decoding="hamming")
        model.fit(X, y, sample_weight=(y == 2).astype(float))
        assert (model.predict_bits(X) == [0, 1, 1]).all()
        assert set(model.predict(X)) == {2}


class TestLearners:
    @every_decoding
    @pytest.mark.parametrize(
        "estimator",
        [None, KNeighborsClassifier(), LinearSVC(), make_pipeline(StandardScaler(), LogisticRegression())],
        ids=lambda e: type(e).__name__,
    )
    def test_any_classifier_will_do(self, estimator, decoding):
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        model = ErrorCorrectingCodeClassifier(estimator, decoding=decoding, random_state=0).fit(X, names)
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
        assert model.score(X, names) > 0.7  # one bit of three is out of reach of linear learners

    @every_decoding
    def test_two_classes_keep_the_probabilities_of_their_learner(self, decoding):
        expected = GaussianNB().fit(X[:100], y[:100]).predict_proba(X)
        model = ErrorCorrectingCodeClassifier(GaussianNB(), decoding=decoding).fit(X[:100], y[:100])
        np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))
        if decoding != "hamming":
            np.testing.assert_allclose(model.predict_proba(X), expected, atol=0.01)

    @pytest.mark.parametrize("base", [CARTClassifier(), GaussianNB()])
    def test_members_are_the_learners_of_the_bits(self, base):
        model = ErrorCorrectingCodeClassifier(base).fit(X, y)
        for bit, member in enumerate(model.estimators_):
            assert member.classes_.tolist() == [0, 1]
            alone = base.fit(X, model.code_book_[y, bit]).predict_proba(X)
            np.testing.assert_allclose(member.predict_proba(X), alone)
            np.testing.assert_allclose(model.predict_bits(X)[:, bit], alone[:, 1])

    def test_probabilities_of_codes_are_less_overconfident_than_likelihoods(self):
        """Bits are not independent, so their product overstates what they tell."""
        digits, target = load_digits(return_X_y=True)
        noisy = digits + np.random.default_rng(0).normal(scale=3.0, size=digits.shape)
        train, test, y_train, y_test = train_test_split(noisy, target, random_state=0)
        models = (ErrorCorrectingCodeClassifier(decoding=d, n_bits=20, random_state=0) for d in ("l1", "loss"))
        l1, loss = (log_loss(y_test, model.fit(train, y_train).predict_proba(test)) for model in models)
        assert l1 < loss


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"n_bits": 1}, ValueError, "n_bits must be at least 2 for 3 classes, not 1"),
        ({"n_bits": 4}, ValueError, "n_bits must be at most 3"),
        ({"code": "exhaustive", "n_bits": 2}, ValueError, "n_bits is 2, but a code of the kind 'exhaustive' for 3"),
        ({"code": np.eye(3), "n_bits": 2}, ValueError, "n_bits is 2, but the given code has 3 bits"),
        ({"code": [[0, 1], [1, 0], [0, 1]]}, ValueError, "equal rows 0 and 2"),
        ({"code": np.eye(4)}, ValueError, r"a row for each of the 3 classes .* not shape \(4, 4\)"),
    ],
)
def test_bad_settings_are_refused(settings, error, match):
    model = ErrorCorrectingCodeClassifier(**settings)
    with pytest.raises(error, match=match):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
