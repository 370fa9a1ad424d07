"""Learned weights against brute force, SciPy's general solver and the conditions that an optimum fulfils."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.combine.weight_solvers import least_squares_weights, log_loss_weights

CONSTRAINTS = [None, "non-negative", "simplex"]
every_constraint = pytest.mark.parametrize("constraint", CONSTRAINTS)


def draw_problem(seed, n_rows, n_members, noise=1.0):
    """Draw a target and members that are the target with noise, some of them useless."""
    rng = np.random.default_rng(seed)
    target = rng.normal(size=n_rows)
    answers = target[:, None] * rng.uniform(-0.5, 1.5, n_members) + noise * rng.normal(size=(n_rows, n_members))
    return answers / np.sqrt(n_rows), target / np.sqrt(n_rows)


def draw_probabilities(seed, n_rows, n_members):
    rng = np.random.default_rng(seed)
    probabilities = rng.beta(2, 1, size=(n_rows, n_members)) * rng.beta(3, 1, size=(n_rows, 1))
    return probabilities, rng.dirichlet(np.ones(n_rows))


def assert_optimal(weights, gradient, *, signed, sum_is_one):
    """Check the conditions of Karush, Kuhn and Tucker for a convex problem."""
    level = weights @ gradient / weights.sum() if sum_is_one else 0.0
    slack = gradient - level
    scale = 1e-7 * (1 + np.abs(gradient).max())
    if sum_is_one:
        assert weights.sum() == pytest.approx(1)
    if signed:
        assert np.abs(slack).max() < scale
    else:
        assert weights.min() >= 0
        assert slack.min() > -scale  # no weight would gain by growing
        assert np.abs(slack[weights > 1e-6]).max(initial=0) < scale  # nor by shrinking


class TestLeastSquares:
    @settings(max_examples=60)
    @given(
        st.integers(0, 2**32 - 1),
        st.integers(1, 60),
        st.integers(1, 12),
        st.sampled_from(CONSTRAINTS),
        st.sampled_from([0.0, 1e-3, 0.1, 10.0]),
    )
    def test_weights_are_optimal(self, seed, n_rows, n_members, constraint, shrinkage):
        answers, target = draw_problem(seed, n_rows, n_members)
        weights = least_squares_weights(answers, target, constraint, shrinkage)
        gradient = 2 * answers.T @ (answers @ weights - target) + 2 * shrinkage * (weights - 1 / n_members)
        assert_optimal(weights, gradient, signed=constraint is None, sum_is_one=constraint == "simplex")

    @every_constraint
    def test_shrinkage_leads_to_equal_weights(self, constraint):
        answers, target = draw_problem(0, 50, 4)
        distances = [
            np.linalg.norm(least_squares_weights(answers, target, constraint, shrinkage) - 0.25)
            for shrinkage in (0.0, 0.01, 0.1, 1.0, 100.0, 1e6)
        ]
        assert (np.diff(distances) < 0).all()
        assert distances[-1] < 1e-5
        assert least_squares_weights(answers, target, constraint, np.inf).tolist() == [0.25] * 4

    @every_constraint
    def test_copies_of_a_member_change_no_prediction(self, constraint):
        answers, target = draw_problem(0, 50, 3)
        twice = answers[:, [0, 1, 1, 2, 2, 2]]
        found = twice @ least_squares_weights(twice, target, constraint)
        np.testing.assert_allclose(found, answers @ least_squares_weights(answers, target, constraint), atol=1e-9)

    def test_free_weights_of_copies_are_equal(self):
        answers, target = draw_problem(0, 50, 2)
        weights = least_squares_weights(answers[:, [0, 1, 1]], target, None)
        assert weights[1] == pytest.approx(weights[2])

    @every_constraint
    def test_the_right_member_gets_all(self, constraint):
        answers, target = draw_problem(0, 50, 4)
        answers[:, 2] = target
        np.testing.assert_allclose(least_squares_weights(answers, target, constraint), [0, 0, 1, 0], atol=1e-9)

    def test_several_right_members_share(self):
        answers = np.array([[1.0, 2.0, 1.0], [3.0, 2.0, 3.0]])
        assert least_squares_weights(answers, answers[:, 0], "simplex").sum() == pytest.approx(1)
        assert least_squares_weights(answers, answers[:, 0], "simplex")[1] == pytest.approx(0)
        np.testing.assert_allclose(least_squares_weights(np.zeros((2, 2)), np.zeros(2), "simplex"), [0.5, 0.5])

    def test_opposite_members_get_nothing_if_weights_cannot_be_negative(self):
        target = np.array([1.0, -1.0, 2.0])
        assert least_squares_weights(-target[:, None], target, None).tolist() == pytest.approx([-1])
        assert least_squares_weights(-target[:, None], target, "non-negative").tolist() == [0]
        assert least_squares_weights(-target[:, None], target, "simplex").tolist() == [1]

    def test_units_do_not_matter_on_the_simplex(self):
        answers, target = draw_problem(1, 80, 5)
        expected = least_squares_weights(answers, target, "simplex")
        for unit in (1e-9, 1e9):
            np.testing.assert_allclose(
                least_squares_weights(unit * answers, unit * target, "simplex"), expected, atol=1e-8
            )

    def test_members_that_are_nearly_the_same(self):
        rng = np.random.default_rng(0)
        target = rng.normal(size=300)
        answers = target[:, None] + rng.normal(size=(300, 1)) + 1e-5 * rng.normal(size=(300, 6))
        for constraint in CONSTRAINTS:
            weights = least_squares_weights(answers, target, constraint)
            least = min(((answers[:, k] - target) ** 2).sum() for k in range(6))
            assert ((answers @ weights - target) ** 2).sum() <= least * (1 + 1e-9)


class TestLogLoss:
    @settings(max_examples=60)
    @given(
        st.integers(0, 2**32 - 1),
        st.integers(1, 80),
        st.integers(1, 8),
        st.sampled_from(CONSTRAINTS),
        st.sampled_from([0.0, 1e-3, 0.1, 10.0]),
    )
    def test_weights_are_optimal(self, seed, n_rows, n_members, constraint, shrinkage):
        if constraint is None and n_rows <= 2 * n_members and shrinkage == 0:
            return  # negative weights can then make every row as likely as they like
        probabilities, shares = draw_probabilities(seed, n_rows, n_members)
        weights = log_loss_weights(probabilities, shares, constraint, shrinkage)
        gradient = -(probabilities / (probabilities @ weights)[:, None]).T @ shares
        gradient += 2 * shrinkage * (weights - 1 / n_members)
        assert_optimal(weights, gradient, signed=constraint is None, sum_is_one=True)

    def test_two_members_by_hand(self):
        # With w and 1 - w: 3/4 log(0.1 + 0.8 w) + 1/4 log(0.9 - 0.8 w) is largest at w = 0.8125.
        probabilities = np.array([[0.9, 0.1]] * 3 + [[0.1, 0.9]])
        np.testing.assert_allclose(log_loss_weights(probabilities, np.full(4, 0.25), "simplex"), [0.8125, 0.1875])

    def test_non_negative_is_the_simplex(self):
        probabilities, shares = draw_probabilities(0, 60, 5)
        found = [log_loss_weights(probabilities, shares, constraint) for constraint in ("non-negative", "simplex")]
        np.testing.assert_array_equal(*found)

    def test_members_that_rule_out_what_happened(self):
        """One row with probability zero costs 34 instead of infinity."""
        probabilities = np.array([[0.9, 0.5], [0.9, 0.5], [0.0, 0.5]])
        weights = log_loss_weights(probabilities, np.full(3, 1 / 3), "simplex")
        # 2 log(0.5 + 0.4 w) + log(0.5 (1 - w)) is largest at w = 0.25.
        np.testing.assert_allclose(weights, [0.25, 0.75])
        nobody = np.array([[0.9, 0.5], [0.0, 0.0]])
        np.testing.assert_allclose(log_loss_weights(nobody, np.full(2, 0.5), "simplex"), [1, 0], atol=1e-9)

    def test_shrinkage_leads_to_equal_weights(self):
        probabilities, shares = draw_probabilities(0, 60, 4)
        distances = [
            np.linalg.norm(log_loss_weights(probabilities, shares, "simplex", shrinkage) - 0.25)
            for shrinkage in (0.0, 0.01, 0.1, 1.0, 100.0, 1e6)
        ]
        assert (np.diff(distances) < 0).all()
        assert distances[-1] < 1e-5
        assert log_loss_weights(probabilities, shares, "simplex", np.inf).tolist() == [0.25] * 4
