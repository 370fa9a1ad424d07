"""Every fixed rule against numbers worked out by hand, ties included, and against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gmean, rankdata, trim_mean

from fuselearn.combine import combine_scores
from fuselearn.combine.rules import (
    MOST_PAIRED_CLASSES,
    RULES,
    TWO_CLASS_RULES,
    UNWEIGHTED_RULES,
    as_probabilities,
    mean_of_middle,
    weighted_median,
)

SETTINGS = {"k_of_n": {"k": 2}}
every_rule = pytest.mark.parametrize("rule", RULES)


def votes(*columns):
    """Make scores from the classes that the members vote for, one tuple of rows for each member."""
    return np.eye(max(max(rows) for rows in columns) + 1)[np.array(columns)]


class TestTwoClassRules:
    """Three members and the four kinds of rows: 0, 1, 2 or 3 votes for class 1."""

    scores = votes((0, 1, 1, 1), (0, 0, 1, 1), (0, 0, 0, 1))

    @pytest.mark.parametrize(
        ("rule", "k", "expected"),
        [
            ("and", None, [0, 0, 0, 1]),
            ("or", None, [0, 1, 1, 1]),
            ("k_of_n", 1, [0, 1, 1, 1]),
            ("k_of_n", 2, [0, 0, 1, 1]),
            ("k_of_n", 3, [0, 0, 0, 1]),
        ],
    )
    def test_votes_for_the_second_class(self, rule, k, expected):
        combined = combine_scores(self.scores, rule, k=k)
        np.testing.assert_array_equal(combined, np.eye(2)[expected])

    @pytest.mark.parametrize(
        ("rule", "k", "expected"),
        [("and", None, [0, 1, 1, 1]), ("or", None, [0, 0, 0, 1]), ("k_of_n", 2, [0, 0, 1, 1])],
    )
    def test_votes_for_the_first_class(self, rule, k, expected):
        combined = combine_scores(self.scores, rule, k=k, positive_class=0)
        np.testing.assert_array_equal(combined, np.eye(2)[expected])

    def test_weights_sum_up(self):
        # The sums for class 1 are 0, 1, 3 and 6.
        for k, expected in (
            (0.5, [0, 1, 1, 1]),
            (1, [0, 1, 1, 1]),
            (1.5, [0, 0, 1, 1]),
            (3, [0, 0, 1, 1]),
            (6, [0, 0, 0, 1]),
        ):
            combined = combine_scores(self.scores, "k_of_n", k=k, weights=[1, 2, 3])
            assert combined.argmax(axis=1).tolist() == expected

    def test_a_sum_reaches_k_in_spite_of_rounding(self):
        assert 0.7 + 0.1 < 0.8
        combined = combine_scores(votes((1, 0), (1, 0), (0, 0)), "k_of_n", k=0.8, weights=[0.7, 0.1, 0.2])
        assert combined.argmax(axis=1).tolist() == [1, 0]

    def test_members_in_doubt_vote_for_the_first_class(self):
        doubt = np.full((2, 1, 2), 0.5)
        assert combine_scores(doubt, "or").tolist() == [[1.0, 0.0]]
        assert combine_scores(doubt, "and", positive_class=0).tolist() == [[1.0, 0.0]]


class TestMajority:
    def test_shares_by_hand(self):
        scores = votes((0, 2, 1), (0, 2, 2), (1, 2, 0))
        expected = np.array([[2, 1, 0], [0, 0, 3], [1, 1, 1]]) / 3
        np.testing.assert_allclose(combine_scores(scores, "majority"), expected)

    def test_weighted_shares_by_hand(self):
        scores = votes((0, 2, 1), (0, 2, 2), (1, 2, 0))
        expected = np.array([[3, 3, 0], [0, 0, 6], [3, 1, 2]]) / 6
        np.testing.assert_allclose(combine_scores(scores, "majority", weights=[1, 2, 3]), expected)

    def test_ties_of_weights_that_differ_by_rounding(self):
        scores = votes((1,), (1,), (0,))
        combined = combine_scores(scores, "majority", weights=[0.1, 0.2, 0.3])
        assert combined[0, 0] == combined[0, 1]
        assert combined.argmax() == 0

    def test_a_member_in_doubt_votes_for_its_first_best_class(self):
        assert combine_scores([[[0.2, 0.4, 0.4]]], "majority").tolist() == [[0.0, 1.0, 0.0]]


class TestBorda:
    def test_counts_by_hand(self):
        # Classes below: member 1 gives 2, 1, 0; member 2 gives 1, 2, 0; member 3 gives 0, 1, 2.
        scores = [[[9, 5, 1]], [[0.2, 0.3, 0.1]], [[-3, -2, -1]]]
        assert combine_scores(scores, "borda").tolist() == [[3, 4, 2]]
        assert combine_scores(scores, "borda", weights=[3, 1, 1]).tolist() == [[7, 6, 2]]

    def test_infinite_scores_are_ranked(self):
        assert combine_scores([[[-np.inf, 0.0, np.inf]]], "borda").tolist() == [[0.0, 1.0, 2.0]]

    @given(
        st.integers(0, 2**32 - 1),
        st.sampled_from([2, 3, 10, MOST_PAIRED_CLASSES, MOST_PAIRED_CLASSES + 1]),
        st.integers(1, 130),
        st.booleans(),
    )
    def test_equals_midranks(self, seed, n_classes, n_rows, weighted):
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 6, (3, n_rows, n_classes)) / 5
        weights = rng.integers(1, 5, 3) if weighted else None
        below = rankdata(scores, axis=2) - 1
        expected = np.tensordot(np.ones(3) if weights is None else weights, below, axes=1)
        np.testing.assert_allclose(combine_scores(scores, "borda", weights=weights), expected)


class TestProbabilityRules:
    scores = np.array([[[0.6, 0.3, 0.1]], [[0.5, 0.4, 0.1]], [[0.1, 0.2, 0.7]], [[0.2, 0.6, 0.2]]])

    @pytest.mark.parametrize(
        ("rule", "expected"),
        [
            ("mean", [1.4 / 4, 1.5 / 4, 1.1 / 4]),
            ("median", [0.35, 0.35, 0.15]),
            ("min", [0.1, 0.2, 0.1]),
            ("max", [0.6, 0.6, 0.7]),
            ("product", np.array([60, 144, 14]) / 218),
        ],
    )
    def test_by_hand(self, rule, expected):
        np.testing.assert_allclose(combine_scores(self.scores, rule), [expected])

    @pytest.mark.parametrize(
        ("rule", "expected"),
        [
            ("mean", [1.9 / 8, 2.7 / 8, 3.4 / 8]),
            ("median", [0.15, 0.25, 0.45]),
            # Weights 1, 1, 4, 2 have a mean of 2, so the exponents are 1/2, 1/2, 2, 1.
            ("product", np.array([np.sqrt(0.3) * 0.002, np.sqrt(0.12) * 0.024, 0.1 * 0.098])),
        ],
    )
    def test_weighted_by_hand(self, rule, expected):
        combined = combine_scores(self.scores, rule, weights=[1, 1, 4, 2])
        if rule == "product":
            expected = np.array(expected) / np.sum(expected)
        np.testing.assert_allclose(combined, [expected])

    def test_ties_go_to_the_first_class(self):
        scores = np.array([[[0.1, 0.2, 0.7]], [[0.1, 0.7, 0.2]]])
        for rule in ("mean", "median", "product", "min", "max"):
            combined = combine_scores(scores, rule)
            assert combined[0, 1] == combined[0, 2] > combined[0, 0]
            assert combined.argmax() == 1

    def test_ties_of_sums_that_differ_by_rounding(self):
        assert 0.1 + 0.2 + 0.6 > 0.3 + 0.3 + 0.3
        combined = combine_scores([[[0.3, 0.1]], [[0.3, 0.2]], [[0.3, 0.6]]], "mean")
        assert combined.argmax() == 0

    def test_a_product_of_vetoes_leaves_no_class(self):
        assert combine_scores(votes((0,), (1,)), "product").tolist() == [[0.0, 0.0]]

    def test_a_member_without_weight_cannot_veto(self):
        combined = combine_scores([[[0.2, 0.8]], [[1.0, 0.0]]], "product", weights=[1, 0])
        np.testing.assert_allclose(combined, [[0.04 / 0.68, 0.64 / 0.68]])

    def test_products_of_thousands_do_not_vanish(self):
        scores = np.tile([0.002, 0.001], (2000, 1, 1))
        np.testing.assert_allclose(combine_scores(scores, "product"), [[1.0, 0.0]], atol=1e-300)
        assert combine_scores(np.full((2000, 1, 2), 0.001), "product").tolist() == [[0.5, 0.5]]

    @given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 5))
    def test_equal_plain_numpy(self, seed, n_members, n_classes):
        rng = np.random.default_rng(seed)
        scores = rng.dirichlet(np.ones(n_classes), size=(n_members, 9))
        weights = rng.uniform(0.1, 2, n_members)
        expected = {
            "mean": np.average(scores, axis=0, weights=weights),
            "product": as_probabilities(
                gmean(scores, axis=0, weights=np.broadcast_to(weights[:, None, None], scores.shape)) ** n_members
            ),
        }
        for rule, numbers in expected.items():
            np.testing.assert_allclose(combine_scores(scores, rule, weights=weights), numbers, rtol=1e-9)


class TestAllRules:
    @staticmethod
    def draw(rule, seed=0, n_members=5):
        rng = np.random.default_rng(seed)
        return rng.dirichlet(np.ones(2 if rule in TWO_CLASS_RULES else 4), size=(n_members, 40))

    @every_rule
    def test_the_order_of_the_members_does_not_matter(self, rule):
        scores = self.draw(rule)
        expected = combine_scores(scores, rule, **SETTINGS.get(rule, {}))
        np.testing.assert_allclose(combine_scores(scores[::-1], rule, **SETTINGS.get(rule, {})), expected)

    @every_rule
    def test_copies_of_a_member_agree_with_it(self, rule):
        scores = np.repeat(self.draw(rule)[:1], 3, axis=0)
        chosen = combine_scores(scores, rule, **SETTINGS.get(rule, {})).argmax(axis=1)
        np.testing.assert_array_equal(chosen, scores[0].argmax(axis=1))

    @pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in UNWEIGHTED_RULES])
    def test_equal_weights_change_nothing(self, rule):
        scores = self.draw(rule)
        plain = combine_scores(scores, rule, **SETTINGS.get(rule, {}))
        weighted = combine_scores(
            scores, rule, weights=np.full(5, 0.7), **{name: k * 0.7 for name, k in SETTINGS.get(rule, {}).items()}
        )
        np.testing.assert_allclose(weighted / weighted.sum(), plain / plain.sum(), atol=1e-12)

    @pytest.mark.parametrize("rule", ["majority", "borda", "mean", "median", "product", "k_of_n"])
    def test_a_weight_of_zero_leaves_a_member_out(self, rule):
        scores = self.draw(rule)
        settings = {"k": 2} if rule == "k_of_n" else {}
        found = combine_scores(scores, rule, weights=[1, 1, 0, 1, 1], **settings)
        expected = combine_scores(np.delete(scores, 2, axis=0), rule, weights=np.ones(4), **settings)
        if rule == "product":  # with another number of members the exponents have another mean
            found, expected = found.argmax(axis=1), expected.argmax(axis=1)
        np.testing.assert_allclose(found, expected)

    @every_rule
    def test_other_types_and_layouts(self, rule):
        scores = self.draw(rule)
        settings = SETTINGS.get(rule, {})
        expected = combine_scores(scores, rule, **settings)
        np.testing.assert_array_equal(combine_scores(scores.tolist(), rule, **settings), expected)
        np.testing.assert_array_equal(combine_scores(np.asfortranarray(scores), rule, **settings), expected)
        single = combine_scores(scores.astype(np.float32), rule, **settings)
        assert single.dtype == np.float64
        np.testing.assert_allclose(single, expected, atol=1e-6)
        assert combine_scores(votes((0, 1), (1, 1)).astype(int), rule, **settings).shape == (2, 2)

    @every_rule
    def test_no_rows(self, rule):
        assert combine_scores(np.empty((3, 0, 2)), rule, **SETTINGS.get(rule, {})).shape == (0, 2)

    @every_rule
    def test_scores_are_left_as_they_were(self, rule):
        scores = self.draw(rule)
        before = scores.copy()
        combine_scores(scores, rule, **SETTINGS.get(rule, {}))
        np.testing.assert_array_equal(scores, before)


class TestBadInput:
    scores = np.full((3, 4, 2), 0.5)

    @pytest.mark.parametrize("rule", ["vote", "AND", None, 3])
    def test_unknown_rules(self, rule):
        with pytest.raises(ValueError, match=r"rule must be 'and', .* or 'max', not"):
            combine_scores(self.scores, rule)

    @pytest.mark.parametrize(
        ("weights", "sentence"),
        [
            ([1, 2], r"weights must be 3 numbers, one for each member; their shape is \(2,\)"),
            ([[1, 2, 3]], r"weights must be 3 numbers"),
            (1.0, r"weights must be 3 numbers"),
            ("equal", r"weights must be 3 numbers, one for each member, not 'equal'"),
            ([0, 0, 0], "weights are all zero; at least one weight must be positive"),
            ([1, -1, 1], "weights must be finite numbers of at least 0"),
            ([1, np.nan, 1], "weights must be finite numbers of at least 0"),
            ([1, np.inf, 1], "weights must be finite numbers of at least 0"),
        ],
    )
    def test_weights(self, weights, sentence):
        with pytest.raises(ValueError, match=sentence):
            combine_scores(self.scores, "mean", weights=weights)

    @pytest.mark.parametrize("rule", UNWEIGHTED_RULES)
    def test_rules_that_take_no_weights(self, rule):
        with pytest.raises(ValueError, match=f"rule='{rule}' does not support weights"):
            combine_scores(self.scores, rule, weights=[1, 1, 1])

    @pytest.mark.parametrize(
        ("k", "sentence"),
        [
            (None, "rule='k_of_n' needs k"),
            (0, "k must be at least 1, not 0"),
            (4, "k must be at most the number of members, 3, not 4"),
            (1.5, "k must be an integer"),
            ("two", "k must be an integer"),
        ],
    )
    def test_k(self, k, sentence):
        with pytest.raises((ValueError, TypeError), match=sentence):
            combine_scores(self.scores, "k_of_n", k=k)

    @pytest.mark.parametrize("k", [0, -1.0, 6.1, np.nan, "two"])
    def test_k_with_weights(self, k):
        with pytest.raises((ValueError, TypeError), match="k must be"):
            combine_scores(self.scores, "k_of_n", k=k, weights=[1, 2, 3])

    @pytest.mark.parametrize("rule", TWO_CLASS_RULES)
    def test_three_classes_for_a_rule_of_two(self, rule):
        with pytest.raises(ValueError, match=f"rule='{rule}' is defined for two classes, but scores has 3"):
            combine_scores(np.ones((3, 4, 3)), rule, k=1)

    @pytest.mark.parametrize("value", [2, -1, "yes"])
    def test_positive_class(self, value):
        with pytest.raises(ValueError, match="positive_class must be 0 or 1"):
            combine_scores(self.scores, "and", positive_class=value)

    @pytest.mark.parametrize("shape", [(4, 2), (3,), (0, 4, 2), (3, 4, 0), (1, 3, 4, 2)])
    def test_shapes(self, shape):
        with pytest.raises(ValueError, match=r"scores must have the shape \(n_members, n_samples, n_classes\)"):
            combine_scores(np.ones(shape))

    def test_members_with_different_rows(self):
        with pytest.raises(ValueError, match="the same samples and classes for every member"):
            combine_scores([np.ones((3, 2)), np.ones((4, 2))])

    @every_rule
    def test_gaps(self, rule):
        for n_classes in (2, MOST_PAIRED_CLASSES + 1):
            if rule in TWO_CLASS_RULES and n_classes > 2:
                continue
            scores = np.random.default_rng(0).random((3, 4, n_classes))
            scores[1, 2, 1] = np.nan
            with pytest.raises(ValueError, match="scores has NaN"):
                combine_scores(scores, rule, **SETTINGS.get(rule, {}))
            if rule not in UNWEIGHTED_RULES:
                with pytest.raises(ValueError, match="scores has NaN"):
                    combine_scores(scores, rule, weights=[1, 2, 3], **SETTINGS.get(rule, {}))

    @pytest.mark.parametrize("rule", ["mean", "product", "min", "max"])
    def test_infinite_scores(self, rule):
        with pytest.raises(ValueError, match="scores has NaN or infinite entries"):
            combine_scores([[[0.5, np.inf]]], rule)

    def test_negative_scores_have_no_product(self):
        with pytest.raises(ValueError, match="scores has negative entries"):
            combine_scores([[[0.5, -0.5]]], "product")


def test_probabilities_sum_to_one():
    combined = np.random.default_rng(0).random((50, 4)) * (np.arange(50) > 3)[:, None]
    probabilities = as_probabilities(combined)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(probabilities[:4], 0.25)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(0, 131), st.booleans())
def test_the_median(seed, n_members, n_cells, with_ties):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (n_members, n_cells)) / 4 if with_ties else rng.normal(size=(n_members, n_cells))
    found = mean_of_middle(values, (n_members - 1) // 2)
    np.testing.assert_array_equal(found, np.median(values, axis=0))


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.floats(0, 0.49))
def test_the_trimmed_mean(seed, n_members, fraction):
    values = np.random.default_rng(seed).normal(size=(n_members, 70))
    n_cut = int(fraction * n_members)
    np.testing.assert_allclose(mean_of_middle(values, n_cut), trim_mean(values, fraction, axis=0), atol=1e-14)


def test_missing_values_stay_missing():
    values = np.arange(15.0).reshape(5, 3)
    values[3, 1] = np.nan
    np.testing.assert_array_equal(mean_of_middle(values, 2), [6, np.nan, 8])


class TestWeightedMedian:
    def test_half_of_the_weight_by_hand(self):
        values = np.array([[1.0, 3.0], [2.0, 2.0], [9.0, 1.0]])
        assert weighted_median(values, np.array([1.0, 1.0, 3.0])).tolist() == [9.0, 1.0]
        assert weighted_median(values, np.array([3.0, 1.0, 1.0])).tolist() == [1.0, 3.0]
        # Exactly half of the weight lies at 9 or at 1, so the next value counts as well.
        assert weighted_median(values, np.array([1.0, 1.0, 2.0])).tolist() == [5.5, 1.5]

    def test_half_is_half_in_spite_of_rounding(self):
        assert 0.1 + 0.2 != 0.3
        assert weighted_median(np.array([[1.0], [2.0], [4.0]]), np.array([0.1, 0.2, 0.3])).tolist() == [3.0]

    @given(st.integers(0, 2**32 - 1), st.integers(1, 9))
    def test_whole_weights_are_copies(self, seed, n_members):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 5, (n_members, 20)).astype(float)
        weights = rng.integers(0, 4, n_members)
        weights[0] += not weights.any()
        expected = np.median(np.repeat(values, weights, axis=0), axis=0)
        np.testing.assert_array_equal(weighted_median(values, weights.astype(float)), expected)
