"""Functions of the core on examples that can be computed by hand, or that pin a draw."""

import numpy as np

from fuselearn._core import (
    average_logarithms,
    climb,
    cluster_labels,
    compare_votes,
    draw_counts,
    draw_covering_counts,
    draw_poisson_counts,
    draw_uniforms,
    find_best_sizes,
    tally_classes,
)


def test_seeds_draw_what_they_have_always_drawn():
    assert draw_counts(7, np.array([0.0, 1.0, 3.0]), 8).tolist() == [0, 2, 6]
    classes = np.array([0, 0, 0, 1], dtype=np.int32)
    assert draw_covering_counts(7, np.ones(4), 4, classes, 2, 100).tolist() == [0, 1, 2, 1]
    assert draw_poisson_counts(7, np.array([0.0, 1.0, 3.0]), 0, 0).tolist() == [0, 4, 8]
    assert draw_poisson_counts(7, np.array([1.0, 3.0]), 1, 0).tolist() == [4, 8]
    assert draw_uniforms(7, 1, 2).tolist() == draw_uniforms(7, 0, 3).tolist()[1:]


def test_wrong_votes_are_counted():
    one_two, two_one = np.array([0, 1], dtype=np.int32), np.array([1, 0], dtype=np.int32)
    estimate = np.array([[0.9, 0.1], [0.2, 0.8]])
    wrong, errors = compare_votes(estimate, two_one, one_two, np.array([0.75, 0.25]), is_exact=False)
    assert wrong.tolist() == [True, True]
    assert errors == (1.0, 1.0, 0.0)


def test_logarithms_of_ones_are_zero():
    values = np.array([[1.0, 1.0], [0.5, 1.0]])
    assert average_logarithms(values, np.ones(2), 2.0, np.array([0])).tolist() == [0.0]


def test_classes_are_tallied():
    values = np.array([[[0.2, 0.8], [0.6, 0.4]]])
    truth, samples = np.array([1, 1]), np.array([0, 1])
    tallied = tally_classes(values, np.array([0]), np.zeros((2, 2)), truth, np.ones(2), samples)
    assert tallied.tolist() == [[[0, 0], [1, 1]]]


def test_one_sweep_finds_no_better_book():
    bits = np.array([[0, 0, 1], [0, 1, 0]], dtype=np.int8)
    assert climb(bits, np.array([[1.0, 0.5, 0.25], [-0.5, -0.25, 0.0]]), 10) == 1


def test_labels_that_occur_together_are_clustered():
    pairs = np.kron(np.eye(2), np.ones((2, 2)))
    assert cluster_labels(pairs, np.array([0, 3]), 2, 10).tolist() == [0, 0, 1, 1]


def test_numbers_of_labels_with_the_best_expected_f1():
    assert find_best_sizes(np.array([[0.4, 0.4], [0.2, 0.1]]), 1.0).tolist() == [2, 0]
