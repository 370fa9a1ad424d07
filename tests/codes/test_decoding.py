"""Decoding by hand, and what the minimum distance promises about wrong bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from fuselearn.codes.codebook import exhaustive_code, min_distance
from fuselearn.codes.decoding import class_probabilities, codeword_distances
from fuselearn.codes.search import search_code

CODE = np.array([[0, 0, 0, 0], [0, 1, 1, 1], [1, 1, 0, 0]], dtype=np.int8)
BITS = np.array([[0.2, 0.9, 0.4, 0.5]])


class TestDistances:
    def test_l1(self):
        np.testing.assert_allclose(
            codeword_distances(BITS, CODE), [[2.0, 0.2 + 0.1 + 0.6 + 0.5, 0.8 + 0.1 + 0.4 + 0.5]]
        )

    def test_l1_is_the_sum_of_absolute_differences(self):
        rng = np.random.default_rng(0)
        bits, code = rng.random((30, 15)), exhaustive_code(5)
        np.testing.assert_allclose(codeword_distances(bits, code), np.abs(code - bits[:, None]).sum(axis=2))

    def test_hamming_counts_one_half_as_half_wrong(self):
        np.testing.assert_allclose(codeword_distances(BITS, CODE, "hamming"), [[1.5, 1.5, 1.5]])

    def test_loss(self):
        likelihoods = [0.8 * 0.1 * 0.6 * 0.5, 0.8 * 0.9 * 0.4 * 0.5, 0.2 * 0.9 * 0.6 * 0.5]
        np.testing.assert_allclose(codeword_distances(BITS, CODE, "loss"), [-np.log(likelihoods)])

    def test_certainty_is_limited(self):
        limited = codeword_distances(np.ones((1, 4)), CODE, "loss", least_probability=0.01)
        np.testing.assert_allclose(limited, [[4 * -np.log(0.01), -np.log(0.01) - 3 * np.log(0.99), 9.23044]], rtol=1e-5)


class TestProbabilities:
    def test_with_log_loss_they_are_likelihoods(self):
        likelihoods = np.array([0.8 * 0.1 * 0.6 * 0.5, 0.8 * 0.9 * 0.4 * 0.5, 0.2 * 0.9 * 0.6 * 0.5])
        probabilities = class_probabilities(codeword_distances(BITS, CODE, "loss"), 4, "loss")
        np.testing.assert_allclose(probabilities, [likelihoods / likelihoods.sum()])

    def test_with_wrong_bits_by_hand(self):
        # One bit of five is wrong at best: e = 1.5 / 6, odds 1 to 3 per further wrong bit.
        np.testing.assert_allclose(class_probabilities(np.array([[1.0, 2.0, 3.0]]), 5), [[9 / 13, 3 / 13, 1 / 13]])

    def test_a_single_bit_keeps_its_probability(self):
        code = np.array([[0], [1]], dtype=np.int8)
        distances = codeword_distances(np.array([[0.3], [1.0]]), code)
        np.testing.assert_allclose(class_probabilities(distances, 1), [[0.7, 0.3], [0.0, 1.0]])

    def test_the_further_from_every_codeword_the_more_even(self):
        probabilities = class_probabilities(np.array([[0.0, 4.0], [1.0, 5.0], [2.0, 6.0]]), 10)
        assert (np.diff(probabilities[:, 0]) < 0).all()

    @pytest.mark.parametrize("decoding", ["l1", "hamming", "loss"])
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
        code = np.eye(4, dtype=np.int8)[:, :3]
        distances = codeword_distances(np.ones((1, 3)), code)
        assert distances.min() == 2.0
        probabilities = class_probabilities(distances, 3)
        assert probabilities[0, 3] < probabilities[0, 0] < 0.5

    @pytest.mark.parametrize("decoding", ["l1", "loss"])
    def test_distances_that_differ_by_rounding_are_equal(self, decoding):
        """Sums of the same numbers in another order."""
        distances = np.array([[0.3 + 1e-15, 0.1 + 0.2, 0.3, 0.4], [5e-16, 0.0, 1.0, 1e-9]])
        probabilities = class_probabilities(distances, 7, decoding)
        assert probabilities[0, 0] == probabilities[0, 1] == probabilities[0, 2] > probabilities[0, 3]
        assert probabilities[1, 0] == probabilities[1, 1] > probabilities[1, 3]


CODES = (
    exhaustive_code(4),
    exhaustive_code(7),
    search_code(10, 34, n_restarts=2, random_state=0),
    search_code(26, 40, n_restarts=2, random_state=0),
)
every_code = pytest.mark.parametrize("code", CODES, ids=lambda code: "{}x{}".format(*code.shape))


def flip(words, n_wrong, rng):
    """Turn exactly ``n_wrong`` bits of each word over."""
    wrong = np.argsort(rng.random(words.shape), axis=1) < n_wrong
    return np.where(wrong, 1 - words, words).astype(float)


class TestCorrection:
    @pytest.mark.parametrize("decoding", ["l1", "hamming"])
    @every_code
    def test_as_many_wrong_bits_as_promised_are_always_corrected(self, code, decoding):
        rng = np.random.default_rng(0)
        classes = np.repeat(np.arange(len(code)), 50)
        for n_wrong in range((min_distance(code) - 1) // 2 + 1):
            distances = codeword_distances(flip(code[classes], n_wrong, rng), code, decoding)
            np.testing.assert_array_equal(distances.argmin(axis=1), classes)

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
        words = code[classes]
        bits = np.where(rng.random(words.shape) < error_rate, 1 - words, words).astype(float)
        accuracy = np.mean(codeword_distances(bits, code).argmin(axis=1) == classes)
        promised = binom.cdf((min_distance(code) - 1) // 2, code.shape[1], error_rate)
        assert accuracy >= promised - 3 * np.sqrt(0.25 / len(classes))


def test_probabilities_of_single_bits_by_a_learner_that_rounds():
    distances = np.array([[-2e-16, 1.0000000000000002]])
    np.testing.assert_array_equal(class_probabilities(distances, 1), [[1.0, 0.0]])
