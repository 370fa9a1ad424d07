"""Weights that need no training: given ones, and ones by accuracy or error, by hand."""

import numpy as np
import pytest

from fuselearn.combine.member_weights import accuracy_weights, check_member_weights, inverse_error_weights

ALL = np.array([True, True, True])


class TestGivenWeights:
    def test_of_dropped_members_are_left_out(self):
        assert check_member_weights([1, 2, 3], ALL).tolist() == [1, 2, 3]
        assert check_member_weights([1, 2, 3], np.array([True, False, True])).tolist() == [1, 3]
        assert check_member_weights(None, ALL) is None

    def test_by_performance_sum_up_to_the_number_of_members(self):
        assert check_member_weights("performance", np.array([True, False, True])).sum() == 2

    def test_must_not_be_zero_for_all_members_that_are_left(self):
        with pytest.raises(ValueError, match="weights are all zero"):
            check_member_weights([0, 1, 0], np.array([True, False, True]))

    @pytest.mark.parametrize("weights", [[1, 2], [1, 2, 3, 4], 1.0, [[1, 2, 3]]])
    def test_are_one_for_each_member(self, weights):
        with pytest.raises(ValueError, match="weights must be 3 numbers, one for each member"):
            check_member_weights(weights, ALL)

    def test_have_one_name_only(self):
        with pytest.raises(ValueError, match="weights must be 'performance', not 'equal'"):
            check_member_weights("equal", ALL)


class TestAccuracy:
    def test_weights_are_log_odds(self):
        # With 98 rows the smoothed shares are 0.9, 0.8 and 0.5: odds of 9, 4 and 1.
        weights = accuracy_weights(np.array([89, 79, 49]) / 98, 98, 2)
        np.testing.assert_allclose(weights, 3 * np.log([9, 4, 1]) / np.log(36))

    def test_more_classes_are_harder_to_guess(self):
        # Half of the rows right is better than guessing one of three: odds of 1, times 2.
        weights = accuracy_weights([0.5, 0.8], 98, 3)
        np.testing.assert_allclose(weights[0] / weights[1], np.log(2) / (np.log(79.4 / 20.6) + np.log(2)))

    def test_no_better_than_guessing(self):
        with pytest.warns(UserWarning, match="No member predicts better than a guess"):
            assert accuracy_weights([0.5, 0.2], 100, 2).tolist() == [1, 1]
        assert accuracy_weights([0.4, 0.9], 100, 2).tolist() == [0, 2]

    def test_perfect_members_have_finite_weights(self):
        assert np.isfinite(accuracy_weights([1.0, 0.9], 100, 2)).all()


class TestError:
    def test_weights_are_in_inverse_proportion(self):
        np.testing.assert_allclose(inverse_error_weights(np.array([1.0, 2.0, 4.0])), np.array([4, 2, 1]) * 3 / 7)

    def test_perfect_members_share_the_weight(self):
        assert inverse_error_weights(np.array([0.0, 2.0, 0.0])).tolist() == [1.5, 0.0, 1.5]
        assert np.isfinite(inverse_error_weights(np.array([1e-320, 1.0]))).all()
