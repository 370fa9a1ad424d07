"""Machines on tables that are too large for a Gram matrix, against those that have one."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from fuselearn import SVMClassifier
from fuselearn.io import load, save
from fuselearn.learners import kernel_table, label_target
from fuselearn.learners.kernel_table import Kernel, KernelTable
from fuselearn.learners.svm import SVMLearner
from fuselearn.multilabel import BinaryRelevanceClassifier, ChainClassifier, EnsembleHOMERClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5)) * [1, 3, 1, 1, 1]
Y = np.column_stack([X[:, 0] + X[:, 1] > 1, (X**2).sum(axis=1) > 8, rng.random(400) < 0.1, np.ones(400)]).astype(int)
COUNTS = rng.poisson(2, 400)
NEW = rng.normal(size=(300, 5)) * [1, 3, 1, 1, 1]


def bound(data, n_threads=1, **parameters):
    return SVMLearner(data, SVMClassifier(**parameters), n_threads)


def train(learner, labels, drawn, seed=0, **parameters):
    """Train a machine per label; numbers drawn that are floats are weights."""
    weights = None if drawn.dtype.kind in "iu" else drawn
    return learner.with_params(**parameters).train(
        label_target(labels), np.ceil(drawn).astype(np.int32), seed, weights=weights
    )


pytestmark = pytest.mark.filterwarnings("ignore:The Gram matrix of")


@pytest.fixture
def bind(monkeypatch):
    def bind(data, *, large=True, **settings):
        monkeypatch.setattr(kernel_table, "N_LANDMARKS", 80)
        monkeypatch.setattr(kernel_table, "MOST_SAMPLES", 399 if large else 400)
        monkeypatch.setattr(kernel_table, "MOST_SPARSE_SAMPLES", 399 if large else 400)
        return bound(data, **settings)

    return bind


@pytest.mark.parametrize(("kernel", "form"), [("rbf", np.asarray), ("rbf", sparse.csr_array), ("linear", np.asarray)])
def test_up_to_a_gibibyte_there_is_a_gram_matrix(kernel, form):
    for n_rows in (16_384, 16_385):
        table = KernelTable(form(np.eye(2)[np.arange(n_rows) % 2]))
        assert table.has_gram(Kernel(kernel, 1.0)) == (4 * n_rows**2 <= 2**30)


def test_linear_kernels_of_sparse_tables_have_one_up_to_2000_samples():
    for n_rows in (2_000, 2_001):
        table = KernelTable(sparse.csr_array(np.eye(2)[np.arange(n_rows) % 2]))
        assert table.has_gram(Kernel("linear", 1.0)) == (n_rows == 2_000)


def test_a_radial_kernel_that_is_approximated_is_told_once(bind):
    learner = bind(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(learner, Y, COUNTS, kernel="linear")
    with pytest.warns(UserWarning, match="Gram matrix of 400 samples .* Nystroem features with 80 components"):
        train(learner, Y, COUNTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(learner, Y, COUNTS)
        train(bind(X, large=False), Y, COUNTS)


@pytest.mark.parametrize("probability", ["platt", "logistic"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_linear_machines_are_those_of_the_gram_matrix(bind, form, probability):
    settings = {"kernel": "linear", "probability": probability, "C": 2.0}
    learner = bind(form(X))
    on_features = train(learner, Y, COUNTS, **settings).scores(learner.prepare(form(NEW)))
    learner = bind(form(X), large=False)
    on_gram = train(learner, Y, COUNTS, **settings).scores(learner.prepare(form(NEW)))
    np.testing.assert_allclose(on_features, on_gram, atol=0.005)


@pytest.mark.parametrize("probability", ["platt", "logistic", "sign"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_probabilities_are_about_as_good_as_those_of_the_exact_machines(bind, kernel, probability):
    """Of the labels that the kernel can learn: one of two for a linear one."""
    truth = np.column_stack([NEW[:, 0] + NEW[:, 1] > 1, (NEW**2).sum(axis=1) > 8])[:, : 1 + (kernel == "rbf")]
    errors = []
    for large in (True, False):
        learner = bind(X, large=large)
        block = train(learner, Y, COUNTS, kernel=kernel, probability=probability)
        chances = block.scores(learner.prepare(NEW))
        assert chances.shape == (300, 4)
        assert (chances[:, 3] == 1.0).all()
        errors.append(((chances[:, : truth.shape[1]] - truth) ** 2).mean())
    assert errors[0] < errors[1] + 0.02 < 0.15


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_equals_dense_and_threads_change_nothing(bind, kernel):
    chances = []
    for form, n_threads in ((np.asarray, 1), (np.asarray, 2), (sparse.csr_array, 1)):
        learner = bind(form(X), n_threads=n_threads)
        block = train(learner, Y, COUNTS, kernel=kernel)
        chances.append(block.scores(learner.prepare(form(NEW))))
    np.testing.assert_array_equal(chances[0], chances[1])
    np.testing.assert_allclose(chances[0], chances[2], atol=0.01)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_new_rows_need_no_training_rows(bind, kernel):
    learner = bind(X)
    block = train(learner, Y, COUNTS, kernel=kernel)
    bound = block.scores()
    learner.release()
    assert learner.table._training_X is None
    np.testing.assert_allclose(block.scores(learner.prepare(X)), bound, atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_appended_columns_are_columns_like_others(bind, kernel, form):
    """A label that equals an appended column is learned from it."""
    learner = bind(form(X))
    extended = learner.extend(Y[:, 2:3])
    block = train(extended, Y[:, 2:3], COUNTS, kernel=kernel, C=10.0)
    assert ((block.scores() > 0.5) == Y[:, 2:3]).mean() > 0.98
    extended.release()
    turned = 1 - Y[:, 2:3]
    assert ((block.scores(learner.prepare(form(X)), appended=turned) > 0.5) == turned).mean() > 0.95


def test_a_fold_without_positives(bind):
    lonely = np.zeros((400, 1), dtype=int)
    lonely[5] = 1
    learner = bind(X)
    chances = train(learner, lonely, np.ones(400, dtype=int)).scores()
    assert ((chances >= 0) & (chances <= 1)).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_are_costs(bind, form):
    """Machines that no sigmoid calibrates depend on C times the weights alone."""
    learner = bind(form(X))
    settings = {"kernel": "linear", "probability": "logistic"}
    one = train(learner, Y, 0.5 * COUNTS, C=2.0, **settings).scores()
    other = train(learner, Y, COUNTS, C=1.0, **settings).scores()
    np.testing.assert_allclose(one, other, atol=0.005)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_multilabel_models_on_large_tables_are_repeated_and_saved(bind, form, kernel, tmp_path):
    bind(X)
    base = SVMClassifier(kernel=kernel)
    for model in (
        BinaryRelevanceClassifier(base, random_state=0),
        ChainClassifier(base, random_state=0),
        EnsembleHOMERClassifier(base, n_estimators=3, random_state=0),
    ):
        expected = model.fit(form(X), Y).predict_proba(form(NEW))
        assert ((expected >= 0.0) & (expected <= 1.0)).all()
        save(model, tmp_path / "model.fuse")
        np.testing.assert_array_equal(load(tmp_path / "model.fuse").predict_proba(form(NEW)), expected)
        np.testing.assert_array_equal(model.set_params(n_jobs=2).fit(form(X), Y).predict_proba(form(NEW)), expected)


def test_indices_of_64_bits_and_repeated_entries_change_nothing(bind):
    plain = sparse.csr_array(X)
    halves = sparse.csr_array((np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), 2 * plain.indptr), X.shape)
    halves.indices, halves.indptr = halves.indices.astype(np.int64), halves.indptr.astype(np.int64)
    scores = []
    for form in (plain, halves):
        learner = bind(form)
        assert learner.table.bound_rows().X.indices.dtype == np.int32
        scores.append(train(learner, Y, COUNTS, kernel="linear").scores(learner.prepare(form)))
    assert halves.nnz == 2 * plain.nnz
    np.testing.assert_allclose(*scores, atol=0.005)


def test_sparse_tables_whose_indices_are_out_of_place_are_refused():
    forged = sparse.csr_array(X)
    forged.indices[7] = 10**6
    with pytest.raises(ValueError, match="ind"):
        BinaryRelevanceClassifier(SVMClassifier(kernel="linear")).fit(forged, Y)
