"""The SVM sensor: blocks of support vector machines on slices of one Gram matrix."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fuselearn.engines.svm import training
from fuselearn.sensors.svm import SVMSensor

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


@pytest.mark.parametrize("probability", ["platt", "logistic"])
def test_weights_are_costs_and_their_scale_is_that_of_the_cost(sensor, probability):
    weights = rng.random(120)
    one, other = (
        sensor.train(Y, None, weights / unit, C=2.0 * unit, probability=probability).probabilities()
        for unit in (1.0, 120.0)
    )
    np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("probability", ["platt", "logistic", "sign"])
def test_constant_labels_have_certain_probabilities(sensor, probability):
    chances = sensor.train(Y, None, COUNTS, probability=probability).probabilities()
    assert chances.shape == (120, 5)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (chances[:, 3] == 0).all()
    assert (chances[:, 4] == 1).all()


def test_rows_left_out_get_probabilities_from_those_who_have_not_seen_them(sensor):
    block = sensor.train(Y, None, COUNTS, keep_left_out=True)
    rows, weights, chances = block.left_out
    np.testing.assert_array_equal(np.bincount(rows, weights, 120), COUNTS)
    assert (chances[:, 3:] == [0.0, 1.0]).all()
    seen = block.probabilities()[rows]
    errors = [abs(of[:, :3] - Y[rows, :3]).mean() for of in (seen, chances)]
    assert errors[0] < errors[1] < 0.5
    assert sensor.train(Y, None, COUNTS).left_out is None
    assert sensor.train(Y, None, COUNTS, probability="sign", keep_left_out=True).left_out is None


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


def test_the_number_of_threads_changes_nothing(sensor, monkeypatch):
    monkeypatch.setattr(training, "_ROWS_FOR_THREADS", 1)
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


def test_a_logistic_and_a_sign_of_the_same_margin(sensor):
    logistic, sign = (
        sensor.train(Y[:, :3], DRAWN, COUNTS, probability=probability).probabilities()
        for probability in ("logistic", "sign")
    )
    np.testing.assert_array_equal(sign, logistic > 0.5)
    margins = np.log(logistic / (1 - logistic)) / 2
    copies = np.repeat(np.arange(120), COUNTS)
    other = SVC(gamma=1 / 6).fit(Z[copies], Y[copies, 0])
    np.testing.assert_allclose(margins[:, 0], other.decision_function(Z), atol=3e-3)


def test_platt_is_calibrated_where_the_margin_is_not():
    """Of labels drawn with known chances, the mean probability is the mean chance, and few are called certain."""
    draw = np.random.default_rng(5)
    table = draw.normal(size=(500, 2))
    chances = 1 / (1 + np.exp(-table[:, 0]))
    labels = (draw.random((500, 1)) < chances[:, None]).astype(int)
    found = SVMSensor(table).train(labels, None, np.ones(500, dtype=int), kernel="linear").probabilities()[:, 0]
    assert found.mean() == pytest.approx(labels.mean(), abs=0.02)
    assert abs(found - chances).mean() < 0.06


def test_weights_of_whole_numbers_are_counts(sensor):
    counted, weighted = (
        sensor.train(Y, DRAWN, counts, probability="logistic").probabilities()
        for counts in (COUNTS, COUNTS.astype(float))
    )
    np.testing.assert_array_equal(counted, weighted)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("scaling", ["standard", "minmax"])
def test_units_and_constant_columns_do_not_matter(kernel, scaling):
    other_units = np.column_stack([X * 1000.0 - 7.0, np.full(120, 3.0)])
    chances = []
    for table in (X, other_units):
        block = SVMSensor(table, scaling=scaling).train(Y, DRAWN, COUNTS, kernel=kernel, gamma=0.2)
        chances.append(block.probabilities())
    np.testing.assert_allclose(*chances, atol=1e-3)


@pytest.mark.parametrize("probability", ["platt", "logistic"])
def test_more_columns_than_rows(probability):
    wide = np.random.default_rng(2).normal(size=(120, 300)) + Y[:, :1]
    sensor = SVMSensor(wide)
    block = sensor.train(Y, DRAWN, COUNTS, kernel="linear", probability=probability)
    bound = block.probabilities()
    assert ((bound[DRAWN, 0] > 0.5) == Y[DRAWN, 0]).mean() > 0.95
    sensor.unbind()
    np.testing.assert_allclose(block.probabilities(sensor.prepare(wide)), bound, atol=1e-5)


def test_new_rows_may_be_sparse_where_the_bound_ones_are_not_and_the_other_way_round():
    for bound, new in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
        sensor = SVMSensor(bound(X))
        block = sensor.train(Y, DRAWN, COUNTS)
        np.testing.assert_allclose(
            block.probabilities(sensor.prepare(new(NEW))), block.probabilities(sensor.prepare(bound(NEW))), atol=1e-6
        )


def test_copies_of_one_row_are_no_trouble():
    """All rows alike: every machine says what most of them say."""
    sensor = SVMSensor(np.ones((30, 2)))
    labels = (np.arange(30) < 20).astype(int)[:, None]
    for kernel in ("rbf", "linear"):
        chances = sensor.train(labels, None, np.ones(30, dtype=int), kernel=kernel).probabilities()
        assert (chances == chances[0]).all()
        assert chances[0, 0] == pytest.approx(2 / 3, abs=0.1)


def test_too_few_steps_are_told(sensor):
    with pytest.warns(ConvergenceWarning, match="stopped before it reached its tolerance"):
        sensor.train(Y, DRAWN, COUNTS, max_steps=3, probability="sign")


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_sensor_on_some_columns_is_one_of_the_narrower_table(kernel, is_sparse):
    form = sparse.csr_array if is_sparse else np.asarray
    columns = np.array([4, 0, 2])
    whole, narrow = SVMSensor(form(X)), SVMSensor(form(X[:, columns]))
    chosen = whole.restrict(columns)
    block, expected = (
        sensor.train(Y, DRAWN, COUNTS, kernel=kernel, probability="logistic") for sensor in (chosen, narrow)
    )
    np.testing.assert_allclose(block.probabilities(), expected.probabilities(), atol=1e-3)
    chosen.unbind()
    whole.unbind()
    rows = chosen.restrict_rows(whole.prepare(form(NEW)))
    np.testing.assert_allclose(
        block.probabilities(rows), expected.probabilities(narrow.prepare(form(NEW[:, columns]))), atol=1e-3
    )


def test_scaled_rows_are_held_once_whatever_the_number_of_choices():
    whole = SVMSensor(X)
    choices = [whole.restrict(np.array([k, k + 1])) for k in range(5)]
    blocks = [chosen.extend(Y[:, :1]).train(Y[:, 1:], DRAWN, COUNTS) for chosen in choices]
    for chosen in choices:
        chosen.unbind()
    whole.unbind()
    assert all(block.sensor.root._training_X is None for block in blocks)
    np.testing.assert_array_equal(choices[1].training_rows(), Z[:, 1:3])
