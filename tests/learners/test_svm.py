"""The SVM learner: blocks of support vector machines on slices of one Gram matrix."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fuselearn import SVMClassifier
from fuselearn.learners import label_target, svm
from fuselearn.learners.svm import SVMLearner

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 6)) * [1, 10, 0.1, 1, 5, 1] + [0, 100, 0, 3, 0, 0]
Z = (X - X.mean(axis=0)) / X.std(axis=0)
Y = np.column_stack([Z[:, 0] + Z[:, 1] > 0, (Z**2).sum(axis=1) > 5, Z[:, 2] > 0.5, np.zeros(120), np.ones(120)]).astype(
    int
)
COUNTS = np.random.default_rng(1).poisson(2, 120)
DRAWN = np.flatnonzero(COUNTS)
NEW = rng.normal(size=(30, 6)) * X.std(axis=0) + X.mean(axis=0)


def bound(data, n_threads=1, **parameters):
    return SVMLearner(data, SVMClassifier(**parameters), n_threads)


def train(learner, labels, drawn, seed=0, **parameters):
    """Train a machine per label; numbers drawn that are floats are weights."""
    weights = None if drawn.dtype.kind in "iu" else drawn
    return learner.with_params(**parameters).train(
        label_target(labels), np.ceil(drawn).astype(np.int32), seed, weights=weights
    )


@pytest.fixture(scope="module")
def learner():
    return bound(X)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_votes_are_those_of_a_machine_trained_on_copies(learner, kernel):
    votes = train(learner, Y, COUNTS, kernel=kernel, probability="sign").scores()
    copies = np.repeat(np.arange(120), COUNTS)
    for label in range(3):
        other = SVC(kernel=kernel, gamma=1 / 6, C=1.0 if kernel == "rbf" else 1 / 6).fit(Z[copies], Y[copies, label])
        sure = abs(other.decision_function(Z)) > 0.01
        np.testing.assert_array_equal(votes[sure, label], other.predict(Z)[sure])


@pytest.mark.parametrize("probability", ["platt", "logistic"])
def test_weights_are_costs_and_their_scale_is_that_of_the_cost(learner, probability):
    weights = rng.random(120)
    one, other = (
        train(learner, Y, weights / unit, C=2.0 * unit, probability=probability).scores() for unit in (1.0, 120.0)
    )
    np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("probability", ["platt", "logistic", "sign"])
def test_constant_labels_have_certain_probabilities(learner, probability):
    chances = train(learner, Y, COUNTS, probability=probability).scores()
    assert chances.shape == (120, 5)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (chances[:, 3] == 0).all()
    assert (chances[:, 4] == 1).all()


def test_rows_left_out_get_probabilities_from_those_who_have_not_seen_them(learner):
    block, left_out = learner._train_labels(Y, COUNTS, 0)
    rows, weights, decisions = left_out
    chances = block.calibrate(decisions.T)
    np.testing.assert_array_equal(np.bincount(rows, weights, 120), COUNTS)
    assert (chances[:, 3:] == [0.0, 1.0]).all()
    seen = block.scores()[rows]
    errors = [abs(of[:, :3] - Y[rows, :3]).mean() for of in (seen, chances)]
    assert errors[0] < errors[1] < 0.5
    assert learner.with_params(probability="sign")._train_labels(Y, COUNTS, 0)[1] is None


@pytest.mark.parametrize("scaling", ["standard", "minmax", None])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_equals_dense(scaling, kernel):
    holes = np.where(rng.random(X.shape) < 0.6, 0.0, X)
    chances = []
    for data, new in ((holes, NEW), (sparse.csr_matrix(holes), sparse.csr_matrix(NEW))):
        learner = bound(data, scaling=scaling)
        block = train(learner, Y, COUNTS, kernel=kernel, gamma=0.001 if scaling is None else None)
        chances.append(np.vstack([block.scores(), block.scores(learner.prepare(new))]))
    np.testing.assert_allclose(*chances, atol=2e-3)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(svm, "SAMPLES_FOR_THREADS", 1)
    one, two = (train(bound(X, n_threads), Y, COUNTS, seed=3).scores() for n_threads in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("scaling", "width"), [("standard", 2.0), ("minmax", 1.0), (None, 1.0)])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_appended_labels_are_columns_like_others(kernel, scaling, width, is_sparse):
    form = sparse.csr_matrix if is_sparse else np.asarray
    scaled = {"standard": Z, "minmax": X / np.ptp(X, axis=0), None: Z}[scaling]
    wide = bound(form(np.hstack([scaled, width * Y[:, :2]])), scaling=None)
    other = train(wide, Y, COUNTS, kernel=kernel, gamma=1 / 6, probability="logistic")

    narrow = bound(form(Z if scaling is None else X), scaling=scaling)
    extended = narrow.extend(Y[:, :1]).extend(Y[:, 1:2])
    block = train(extended, Y, COUNTS, kernel=kernel, gamma=1 / 6, probability="logistic")
    np.testing.assert_allclose(block.scores(), other.scores(), atol=2e-3)

    labels = 1 - Y[:20, :2]
    expected = other.scores(wide.prepare(form(np.hstack([scaled[:20], width * labels]))))
    rows = narrow.prepare(form((Z if scaling is None else X)[:20]))
    np.testing.assert_allclose(block.scores(rows, appended=labels), expected, atol=2e-3)
    some = np.array([4, 0, 19])
    np.testing.assert_allclose(block.scores(appended=labels[some], only=some), expected[some], atol=2e-3)


def test_the_first_sensor_is_left_as_it_was(learner):
    before = train(learner, Y, COUNTS).scores()
    train(learner.extend(Y), Y, COUNTS)
    np.testing.assert_array_equal(train(learner, Y, COUNTS).scores(), before)


def test_rows_of_an_extended_sensor_outlive_its_gram_matrix():
    learner = bound(X)
    extended = learner.extend(Y[:, :1])
    block = train(extended, Y[:, 1:], COUNTS)
    expected = block.scores()
    extended.release()
    learner.release()
    np.testing.assert_allclose(block.scores(learner.prepare(X), appended=Y[:, :1]), expected, atol=1e-5)


def test_a_logistic_and_a_sign_of_the_same_margin(learner):
    logistic, sign = (
        train(learner, Y[:, :3], COUNTS, probability=probability).scores() for probability in ("logistic", "sign")
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
    found = train(bound(table), labels, np.ones(500, dtype=int), kernel="linear").scores()[:, 0]
    assert found.mean() == pytest.approx(labels.mean(), abs=0.02)
    assert abs(found - chances).mean() < 0.06


def test_weights_of_whole_numbers_are_counts(learner):
    counted, weighted = (
        train(learner, Y, counts, probability="logistic").scores() for counts in (COUNTS, COUNTS.astype(float))
    )
    np.testing.assert_array_equal(counted, weighted)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("scaling", ["standard", "minmax"])
def test_units_and_constant_columns_do_not_matter(kernel, scaling):
    other_units = np.column_stack([X * 1000.0 - 7.0, np.full(120, 3.0)])
    chances = []
    for table in (X, other_units):
        block = train(bound(table, scaling=scaling), Y, COUNTS, kernel=kernel, gamma=0.2)
        chances.append(block.scores())
    np.testing.assert_allclose(*chances, atol=1e-3)


@pytest.mark.parametrize("probability", ["platt", "logistic"])
def test_more_columns_than_rows(probability):
    wide = np.random.default_rng(2).normal(size=(120, 300)) + Y[:, :1]
    learner = bound(wide)
    block = train(learner, Y, COUNTS, kernel="linear", probability=probability)
    before = block.scores()
    assert ((before[DRAWN, 0] > 0.5) == Y[DRAWN, 0]).mean() > 0.95
    learner.release()
    np.testing.assert_allclose(block.scores(learner.prepare(wide)), before, atol=1e-5)


def test_new_rows_may_be_sparse_where_the_bound_ones_are_not_and_the_other_way_round():
    for old, new in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
        learner = bound(old(X))
        block = train(learner, Y, COUNTS)
        np.testing.assert_allclose(
            block.scores(learner.prepare(new(NEW))), block.scores(learner.prepare(old(NEW))), atol=1e-6
        )


def test_copies_of_one_row_are_no_trouble():
    """All rows alike: every machine says what most of them say."""
    learner = bound(np.ones((30, 2)))
    labels = (np.arange(30) < 20).astype(int)[:, None]
    for kernel in ("rbf", "linear"):
        chances = train(learner, labels, np.ones(30, dtype=int), kernel=kernel).scores()
        assert (chances == chances[0]).all()
        assert chances[0, 0] == pytest.approx(2 / 3, abs=0.1)


def test_too_few_steps_are_told(learner, monkeypatch):
    monkeypatch.setattr(svm, "train_columns", partial(svm.train_columns, max_steps=3))
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        learner.train(label_target(Y), COUNTS.astype(np.int32), 0)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_sensor_on_some_columns_is_one_of_the_narrower_table(kernel, is_sparse):
    form = sparse.csr_array if is_sparse else np.asarray
    columns = np.array([4, 0, 2])
    whole, narrow = bound(form(X)), bound(form(X[:, columns]))
    chosen = whole.restrict(columns)
    block, expected = (train(learner, Y, COUNTS, kernel=kernel, probability="logistic") for learner in (chosen, narrow))
    np.testing.assert_allclose(block.scores(), expected.scores(), atol=1e-3)
    chosen.release()
    whole.release()
    rows = whole.prepare(form(NEW))
    np.testing.assert_array_equal(block.scores(rows), block.scores(chosen.adapt(rows)))
    np.testing.assert_allclose(block.scores(rows), expected.scores(narrow.prepare(form(NEW[:, columns]))), atol=1e-3)


def test_scaled_rows_are_held_once_whatever_the_number_of_choices():
    whole = bound(X)
    choices = [whole.restrict(np.array([k, k + 1])) for k in range(5)]
    blocks = [train(chosen.extend(Y[:, :1]), Y[:, 1:], COUNTS) for chosen in choices]
    for chosen in choices:
        chosen.release()
    whole.release()
    assert all(block.table.root._training_X is None for block in blocks)
    np.testing.assert_array_equal(choices[1].table.training_rows(), Z[:, 1:3])
