"""The Kalman filter against numbers worked out by hand and against the textbook's matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.fusion import KalmanFilter

errors = st.lists(st.floats(0.01, 10.0), min_size=1, max_size=12)


def test_two_measurements_worked_out_by_hand():
    kf = KalmanFilter(np.array([0.0, 4.0]), variance=1.0)
    assert np.isnan(kf.gain)

    # K = 1 / (1 + 1/4) = 4/5, x = 4/5 z + 1/5 x, P = 1/5
    assert kf.update(np.array([5.0, 9.0]), error=0.25) == pytest.approx(0.8)
    np.testing.assert_allclose(kf.state, [4.0, 8.0])
    assert kf.variance == pytest.approx(0.2)

    # K = (1/5) / (1/5 + 3/10) = 2/5, P = 3/5 * 1/5
    assert kf.update(np.array([-1.0, 8.0]), error=0.3) == pytest.approx(0.4)
    np.testing.assert_allclose(kf.state, [2.0, 8.0])
    assert kf.variance == pytest.approx(0.12)
    assert kf.gain == pytest.approx(0.4)


def test_time_update_worked_out_by_hand():
    kf = KalmanFilter([2.0, -3.0], variance=0.5, process_noise=0.25, transition=2.0)
    kf.predict()
    np.testing.assert_allclose(kf.state, [4.0, -6.0])
    assert kf.variance == pytest.approx(4 * 0.5 + 0.25)
    kf.predict()
    assert kf.variance == pytest.approx(4 * 2.25 + 0.25)


def test_without_noise_or_transition_the_time_update_changes_nothing():
    kf = KalmanFilter([2.0, -3.0], variance=0.5)
    kf.predict()
    np.testing.assert_array_equal(kf.state, [2.0, -3.0])
    assert kf.variance == 0.5


@given(errors)
@settings(max_examples=30)
def test_precisions_add_up(errors):
    kf = KalmanFilter(np.zeros(1))
    for t, error in enumerate(errors, start=1):
        gain = kf.update(np.ones(1), error)
        precision = 1 + sum(1 / r for r in errors[:t])
        assert 1 / kf.variance == pytest.approx(precision, rel=1e-10)
        assert gain == pytest.approx((1 / error) / precision, rel=1e-10)


@given(errors)
@settings(max_examples=30)
def test_the_estimate_is_the_mean_weighted_by_precision(errors):
    kf = KalmanFilter(np.array([3.0]))
    for t, error in enumerate(errors):
        kf.update(np.array([float(t)]), error)
    precisions = np.concatenate([[1.0], 1 / np.array(errors)])
    values = np.concatenate([[3.0], np.arange(len(errors))])
    assert kf.state[0] == pytest.approx(precisions @ values / precisions.sum(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_textbook_filter_with_a_multiple_of_the_identity_as_covariance(seed):
    rng = np.random.default_rng(seed)
    size = 4
    transition, process_noise, variance = rng.uniform(0.5, 1.5), rng.uniform(0, 0.5), rng.uniform(0.1, 2)
    x = rng.normal(size=size)
    kf = KalmanFilter(x.reshape(2, 2), variance, process_noise, transition)
    eye = H = np.eye(size)
    A, Q, P = transition * eye, process_noise * eye, variance * eye
    for _ in range(10):
        z, error = rng.normal(size=size), rng.uniform(0.05, 2)
        x, P = A @ x, A @ P @ A.T + Q
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + error * eye)
        x, P = x + K @ (z - H @ x), (eye - K @ H) @ P

        kf.predict()
        gain = kf.update(z.reshape(2, 2), error)
        np.testing.assert_allclose(gain * eye, K, atol=1e-12)
        np.testing.assert_allclose(kf.variance * eye, P, atol=1e-12)
        np.testing.assert_allclose(kf.state, x.reshape(2, 2), atol=1e-12)


def test_a_perfect_measurement_is_taken_over_and_ends_all_doubt():
    kf = KalmanFilter([1.0, 2.0])
    assert kf.update(np.array([5.0, 7.0]), error=0.0) == 1.0
    np.testing.assert_array_equal(kf.state, [5.0, 7.0])
    assert kf.variance == 0.0

    # Neither a noisy nor another perfect measurement can change a certain estimate.
    for error in (0.5, 0.0):
        assert kf.update(np.array([100.0, 100.0]), error) == 0.0
        np.testing.assert_array_equal(kf.state, [5.0, 7.0])
        assert kf.variance == 0.0


def test_process_noise_lets_a_certain_estimate_learn_again():
    kf = KalmanFilter([0.0], variance=0.0, process_noise=0.5)
    kf.predict()
    assert kf.update(np.array([3.0]), error=0.5) == pytest.approx(0.5)
    assert kf.state[0] == pytest.approx(1.5)


def test_process_noise_keeps_the_gain_at_its_fixed_point():
    # In the long run P = (P + Q) R / (P + Q + R); with Q = R = 1 this is P = (sqrt(5) - 1) / 2, and then K = P.
    kf = KalmanFilter([0.0], process_noise=1.0)
    for _ in range(60):
        kf.predict()
        kf.update(np.zeros(1), error=1.0)
    assert kf.variance == pytest.approx((np.sqrt(5) - 1) / 2)
    assert kf.gain == pytest.approx((np.sqrt(5) - 1) / 2)


def test_the_first_estimate_is_copied():
    first = np.zeros(3)
    kf = KalmanFilter(first)
    kf.update(np.ones(3), error=1.0)
    np.testing.assert_array_equal(first, 0.0)


def test_states_of_any_shape_and_memory_order():
    rng = np.random.default_rng(0)
    first, measured = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    expected = 0.5 * (first + measured)
    for change in (np.ascontiguousarray, np.asfortranarray, np.ndarray.tolist):
        kf = KalmanFilter(change(first))
        kf.update(change(measured), error=1.0)
        np.testing.assert_allclose(kf.state, expected)


def test_variances_below_zero_or_without_limit_are_refused():
    for name in ["variance", "process_noise"]:
        for number in [-0.1, np.nan, np.inf]:
            with pytest.raises(ValueError, match=name):
                KalmanFilter(np.zeros(2), **{name: number})


@pytest.mark.parametrize("number", [-0.1, np.nan, np.inf])
def test_a_measurement_error_below_zero_or_without_limit_is_refused(number):
    kf = KalmanFilter(np.zeros(2))
    with pytest.raises(ValueError, match="error"):
        kf.update(np.zeros(2), number)


def test_a_measurement_of_another_shape_is_refused():
    kf = KalmanFilter(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="measurement"):
        kf.update(np.zeros(2), 1.0)
    np.testing.assert_array_equal(kf.state, 0.0)


def test_a_transition_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="transition"):
        KalmanFilter(np.zeros(2), transition=np.nan)
