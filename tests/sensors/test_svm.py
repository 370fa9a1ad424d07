"""The SVM sensor: blocks of support vector machines on slices of one Gram matrix."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from fuselearn.sensors import SVMSensor

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 6)) * [1, 10, 0.1, 1, 5, 1] + [0, 100, 0, 3, 0, 0]
Z = (X - X.mean(axis=0)) / X.std(axis=0)
Y = np.column_stack([Z[:, 0] + Z[:, 1] > 0, (Z**2).sum(axis=1) > 5, Z[:, 2] > 0.5, np.zeros(120), np.ones(120)]).astype(
    int
)
COUNTS = np.random.default_rng(1).poisson(2, 120)
DRAWN = np.flatnonzero(COUNTS)
NEW = rng.normal(size=(30, 6)) * X.std(axis=0) + X.mean(axis=0)


@pytest.fixture(scope="module")
def sensor():
    return SVMSensor(X)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_votes_are_those_of_a_machine_trained_on_copies(sensor, kernel):
    votes = sensor.train(Y, DRAWN, COUNTS, kernel=kernel, probability="sign").probabilities()
    copies = np.repeat(np.arange(120), COUNTS)
    for label in range(3):
        other = SVC(kernel=kernel, gamma=1 / 6, C=1.0 if kernel == "rbf" else 1 / 6).fit(Z[copies], Y[copies, label])
        sure = abs(other.decision_function(Z)) > 0.01
        np.testing.assert_array_equal(votes[sure, label], other.predict(Z)[sure])


@pytest.mark.parametrize("probability", ["platt", "logistic", "sign"])
def test_constant_labels_have_certain_probabilities(sensor, probability):
    chances = sensor.train(Y, None, COUNTS, probability=probability).probabilities()
    assert chances.shape == (120, 5)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (chances[:, 3] == 0).all()
    assert (chances[:, 4] == 1).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_prediction_of_new_rows_needs_no_gram_matrix(kernel):
    sensor = SVMSensor(X)
    block = sensor.train(Y, DRAWN, COUNTS, kernel=kernel)
    bound = block.probabilities()
    sensor.unbind()
    np.testing.assert_allclose(block.probabilities(sensor.prepare(X)), bound, atol=1e-6)
    with pytest.raises(RuntimeError, match="training data"):
        block.probabilities()
    with pytest.raises(RuntimeError, match="training data"):
        sensor.train(Y, DRAWN, COUNTS)


@pytest.mark.parametrize("scaling", ["standard", "minmax", None])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_equals_dense(scaling, kernel):
    holes = np.where(rng.random(X.shape) < 0.6, 0.0, X)
    chances = []
    for data, new in ((holes, NEW), (sparse.csr_matrix(holes), sparse.csr_matrix(NEW))):
        sensor = SVMSensor(data, scaling=scaling)
        block = sensor.train(Y, DRAWN, COUNTS, kernel=kernel, gamma=0.001 if scaling is None else None)
        chances.append(np.vstack([block.probabilities(), block.probabilities(sensor.prepare(new))]))
    np.testing.assert_allclose(*chances, atol=2e-3)


def test_the_number_of_threads_changes_nothing(sensor):
    one, two = (sensor.train(Y, DRAWN, COUNTS, seed=3, n_threads=t).probabilities() for t in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_some_rows_have_the_probabilities_that_they_have_among_all(sensor, kernel):
    block = sensor.train(Y, DRAWN, COUNTS, kernel=kernel)
    prepared = sensor.prepare(NEW)
    rows = np.array([7, 3, 21])
    np.testing.assert_array_equal(block.probabilities(prepared, rows), block.probabilities(prepared)[rows])
    np.testing.assert_array_equal(block.probabilities(rows=rows), block.probabilities()[rows])


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("scaling", "width"), [("standard", 2.0), ("minmax", 1.0), (None, 1.0)])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_appended_labels_are_columns_like_others(kernel, scaling, width, is_sparse):
    form = sparse.csr_matrix if is_sparse else np.asarray
    scaled = {"standard": Z, "minmax": X / np.ptp(X, axis=0), None: Z}[scaling]
    wide = SVMSensor(form(np.hstack([scaled, width * Y[:, :2]])), scaling=None)
    other = wide.train(Y, DRAWN, COUNTS, kernel=kernel, gamma=1 / 6, probability="logistic")

    narrow = SVMSensor(form(Z if scaling is None else X), scaling=scaling)
    extended = narrow.extend(Y[:, :1]).extend(Y[:, 1:2])
    block = extended.train(Y, DRAWN, COUNTS, kernel=kernel, gamma=1 / 6, probability="logistic")
    np.testing.assert_allclose(block.probabilities(), other.probabilities(), atol=2e-3)

    labels = 1 - Y[:20, :2]
    expected = other.probabilities(wide.prepare(form(np.hstack([scaled[:20], width * labels]))))
    rows = extended.extend_rows(narrow.prepare(form((Z if scaling is None else X)[:20])), labels)
    np.testing.assert_allclose(block.probabilities(rows), expected, atol=2e-3)
    some = np.array([4, 0, 19])
    rows = extended.extend_rows(narrow.bound_rows(), labels[some], only=some)
    np.testing.assert_allclose(block.probabilities(rows), expected[some], atol=2e-3)


def test_the_first_sensor_is_left_as_it_was(sensor):
    before = sensor.train(Y, DRAWN, COUNTS).probabilities()
    sensor.extend(Y).train(Y, DRAWN, COUNTS)
    np.testing.assert_array_equal(sensor.train(Y, DRAWN, COUNTS).probabilities(), before)


def test_rows_of_an_extended_sensor_outlive_its_gram_matrix():
    sensor = SVMSensor(X)
    extended = sensor.extend(Y[:, :1])
    block = extended.train(Y[:, 1:], DRAWN, COUNTS)
    expected = block.probabilities()
    extended.unbind()
    sensor.unbind()
    rows = extended.extend_rows(sensor.prepare(X), Y[:, :1])
    np.testing.assert_allclose(block.probabilities(rows), expected, atol=1e-5)
