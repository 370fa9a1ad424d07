"""KFHE against a plain rendering of the authors' program, and its filter's identities."""

import math
from itertools import cycle

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn._core import draw_covering_counts
from fuselearn.fusion.problem import MOST_TRIES


def plain_kfhe(
    fit, X, y, n_estimators, seed, *, weighting, vote, shares=None, h0=None, reset="out-of-bag", variant="program"
):
    """Train KFHE step by step.

    ``fit(counts)`` trains a classifier of the whole training set on drawn rows and gives its class probabilities.
    """
    n, c = len(y), y.max() + 1
    initial = np.full(n, 1 / n) if shares is None else shares
    seeds = [int(s) for s in np.random.default_rng(seed).integers(2**62, size=n_estimators + 1)]
    is_program = variant == "program"

    def draw(w, seed):
        return draw_covering_counts(seed, w, n, y.astype(np.int32), c, MOST_TRIES if is_program else 1)

    estimate = fit(np.ones(n) if is_program else draw(initial, seeds[0])) if h0 is None else h0
    prior = np.array([initial[y == j].sum() for j in range(c)])[y]
    n_votes, n_right = np.zeros(n), np.zeros(n)
    P, Pw, w = 1.0, 1.0, initial
    trace = {"gains": [], "variances": [], "errors": [], "resets": [], "train_errors": []}
    trace["train_errors"].append(initial[estimate.argmax(axis=1) != y].sum())

    def measure(w, seed):
        counts = draw(w, seed)
        h = fit(counts)
        return np.eye(c)[h.argmax(axis=1)] if vote == "class" else h, counts

    def is_guessing(h):
        error = initial[h.argmax(axis=1) != y].sum()
        return error >= 1 - 1 / c - 1e-12 if is_program else error > 1 - 1 / c + 1e-12

    for t in range(1, n_estimators + 1):
        h, counts = measure(w, seeds[t])
        repeat = 0
        while reset and is_guessing(h) and not (is_program and repeat):
            w, Pw = initial, 1.0
            trace["resets"].append(t)
            repeat += 1
            h, counts = measure(w, seeds[t] + repeat)
        n_votes += counts == 0
        n_right += (counts == 0) & (h.argmax(axis=1) == y)
        z = (h + estimate) / 2
        wrong = z.argmax(axis=1) != y
        R = initial[wrong].sum()

        K = P / (P + R) if P + R > 0 else 0.0
        estimate = estimate + K * (z - estimate)
        P = P - P * K

        if reset == "out-of-bag" and w @ (1 - (prior + n_right) / (1 + n_votes)) >= 1 - 1 / c:
            w, Pw = initial, 1.0
            trace["resets"].append(t + 1)
            trace["gains"].append(K)
            trace["variances"].append(P)
            trace["errors"].append(R)
            trace["train_errors"].append(initial[estimate.argmax(axis=1) != y].sum())
            continue
        if not is_program:
            o = w * (np.exp(1.0 * wrong) if weighting == "exponential" else wrong)
        elif weighting == "exponential":
            o = w * np.exp(wrong + 1 / n)
        else:
            o = initial + w * wrong if weighting == "linear" else w * np.exp(np.where(wrong, 1, -1))
            o = o / o.sum()
        Kw = Pw / (Pw + R) if Pw + R > 0 else 0.0
        w = w + Kw * (o - w)
        Pw = Pw - Pw * Kw
        w = w / w.sum()

        for name, number in (("gains", K), ("variances", P), ("errors", R)):
            trace[name].append(number)
        trace["train_errors"].append(initial[estimate.argmax(axis=1) != y].sum())
        if K == 0:
            break
    return estimate, w, trace


def assert_follows(model, X, estimate, weights, trace):
    np.testing.assert_allclose(model.gains_, trace["gains"], atol=1e-12)
    np.testing.assert_allclose(model.variances_, trace["variances"], atol=1e-12)
    np.testing.assert_allclose(model.measurement_errors_, trace["errors"], atol=1e-12)
    np.testing.assert_allclose(model.train_errors_, trace["train_errors"], atol=1e-12)
    np.testing.assert_allclose(model.sample_weights_, weights, atol=1e-12)
    np.testing.assert_array_equal(model.resets_, trace["resets"])
    np.testing.assert_allclose(model.predict_proba(X), estimate, atol=1e-12)


class TestAgainstPlainKFHE:
    @pytest.mark.parametrize("vote", ["class", "probability"])
    @pytest.mark.parametrize("weighting", ["exponential", "linear", "symmetric"])
    def test_trees(self, noisy_wine, weighting, vote):
        X, y = noisy_wine
        model = KFHEClassifier(n_estimators=25, weighting=weighting, vote=vote, random_state=3).fit(X, y)
        tree = CARTClassifier(complexity=None)
        estimate, weights, trace = plain_kfhe(
            lambda counts: tree.fit(X, y, sample_weight=counts).predict_proba(X),
            X, y, 25, 3, weighting=weighting, vote=vote,
        )  # fmt: skip
        assert_follows(model, X, estimate, weights, trace)
        assert model.n_iter_ == 25
        assert np.ptp(model.sample_weights_) > 0.001

    @pytest.mark.parametrize("weighting", ["exponential", "linear"])
    @pytest.mark.parametrize(
        ("reset", "variant"),
        [("training", "program"), (None, "program"), ("training", "paper"), ("out-of-bag", "paper")],
    )
    def test_resets_and_variants(self, noisy_wine, weighting, reset, variant):
        X, y = noisy_wine
        y = np.where(np.arange(len(y)) % 4 == 0, (y + 1) % 3, y)
        how = {"weighting": weighting, "vote": "class", "reset": reset, "variant": variant}
        model = KFHEClassifier(n_estimators=30, random_state=3, **how).fit(X, y)
        tree = CARTClassifier(complexity=None)
        fit = lambda counts: tree.fit(X, y, sample_weight=counts).predict_proba(X)  # noqa: E731
        estimate, weights, trace = plain_kfhe(fit, X, y, 30, 3, **how)
        assert_follows(model, X, estimate, weights, trace)
        assert (len(model.resets_) > 0) == (reset == "out-of-bag")

    @pytest.mark.parametrize("weighting", ["exponential", "linear"])
    def test_sample_weight_starts_the_weight_filter_and_weighs_the_errors(self, noisy_wine, weighting):
        X, y = noisy_wine
        sample_weight = np.random.default_rng(1).uniform(0, 2, len(y))
        sample_weight[::10] = 0
        model = KFHEClassifier(n_estimators=10, weighting=weighting, random_state=3)
        model.fit(X, y, sample_weight=sample_weight)
        tree = CARTClassifier(complexity=None)
        h0 = tree.fit(X, y, sample_weight=sample_weight).predict_proba(X)
        estimate, weights, trace = plain_kfhe(
            lambda counts: tree.fit(X, y, sample_weight=counts).predict_proba(X),
            X, y, 10, 3, weighting=weighting, vote="class", shares=sample_weight / sample_weight.sum(), h0=h0,
        )  # fmt: skip
        assert_follows(model, X, estimate, weights, trace)

    def test_trees_in_turn(self, noisy_wine):
        X, y = noisy_wine
        trees = [CARTClassifier(complexity=None), CARTClassifier(max_depth=1)]
        depths = []
        callback = lambda number, tree: depths.append(tree.max_depth)  # noqa: E731
        model = KFHEClassifier(trees, n_estimators=8, reset=None, callback=callback, random_state=3).fit(X, y)
        turns = cycle(trees)
        fit = lambda counts: next(turns).fit(X, y, sample_weight=counts).predict_proba(X)  # noqa: E731
        estimate, weights, trace = plain_kfhe(fit, X, y, 8, 3, weighting="exponential", vote="class", reset=None)
        assert_follows(model, X, estimate, weights, trace)
        assert [tree.max_depth for tree in model.estimators_] == [30, *depths] == [30, 1] * 4 + [30]

    def test_another_base_learner(self, noisy_wine):
        X, y = noisy_wine
        model = KFHEClassifier(GaussianNB(), n_estimators=8, vote="probability", random_state=3).fit(X, y)

        def fit(counts):
            drawn = counts > 0
            return GaussianNB().fit(X[drawn], y[drawn], sample_weight=counts[drawn]).predict_proba(X)

        estimate, weights, trace = plain_kfhe(fit, X, y, 8, 3, weighting="exponential", vote="probability")
        assert_follows(model, X, estimate, weights, trace)


class TestIdentities:
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, noisy_wine):
        return KFHEClassifier(n_estimators=30, random_state=0).fit(*noisy_wine)

    def test_precisions_add_up(self, model):
        precision = 1 + np.cumsum(1 / model.measurement_errors_)
        np.testing.assert_allclose(model.variances_, 1 / precision, rtol=1e-10)
        np.testing.assert_allclose(model.gains_, 1 / model.measurement_errors_ / precision, rtol=1e-10)

    def test_the_weighted_sum_equals_the_recursion(self, model, noisy_wine):
        X, _ = noisy_wine
        new = X + np.random.default_rng(0).normal(scale=0.1 * X.std(axis=0), size=X.shape)
        estimate = model.estimators_[0].predict_proba(new)
        for tree, gain in zip(model.estimators_[1:], model.gains_, strict=True):
            h = np.eye(3)[tree.predict_proba(new).argmax(axis=1)]
            estimate = (1 - gain / 2) * estimate + gain / 2 * h
        np.testing.assert_allclose(model.predict_proba(new), estimate, atol=1e-12)
        assert model.estimator_weights_.sum() == pytest.approx(1.0)

    def test_stages_end_with_the_prediction(self, model, noisy_wine):
        X, _ = noisy_wine
        stages = list(model.staged_predict_proba(X))
        assert len(stages) == model.n_iter_ + 1 == len(model.estimators_)
        np.testing.assert_allclose(stages[-1], model.predict_proba(X), atol=1e-12)
        np.testing.assert_allclose([s.sum(axis=1) for s in stages], 1.0)
        np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))

    def test_training_errors_are_those_of_the_stages(self, model, noisy_wine):
        X, y = noisy_wine
        errors = [np.mean(stage != y) for stage in model.staged_predict(X)]
        np.testing.assert_allclose(model.train_errors_, errors, atol=1e-12)

    def test_weights_sum_to_one(self, model):
        assert model.sample_weights_.sum() == pytest.approx(1.0)
        assert (model.sample_weights_ > 0).all()

    def test_the_default_tree_is_not_pruned(self, model, noisy_wine):
        X, y = noisy_wine
        first, unpruned = model.estimators_[0], CARTClassifier(complexity=None).fit(X, y)
        assert unpruned.get_n_leaves() > CARTClassifier().fit(X, y).get_n_leaves()
        np.testing.assert_array_equal(first.predict_proba(X), unpruned.predict_proba(X))


class TestEarlyStop:
    X = np.repeat([0.0, 1.0], 20)[:, None]
    y = np.repeat([0, 1], 20)

    def test_a_perfect_measurement_ends_training_one_step_later(self):
        model = KFHEClassifier(n_estimators=50, random_state=0).fit(self.X, self.y)
        assert model.n_iter_ == 2
        assert model.gains_.tolist() == [1.0, 0.0]
        assert model.variances_.tolist() == [0.0, 0.0]
        assert model.measurement_errors_.tolist() == [0.0, 0.0]
        assert model.train_errors_.tolist() == [0.0, 0.0, 0.0]
        np.testing.assert_allclose(model.estimator_weights_, [0.5, 0.5, 0.0])
        assert model.score(self.X, self.y) == 1.0


class TestResets:
    """30 rows of three classes; a scripted learner is right, half right, or always wrong."""

    y = np.arange(30) % 3
    X = np.column_stack([np.arange(30.0), np.zeros(30)])
    bad = (y + 1) % 3
    half = np.where(np.arange(30) < 15, y, bad)
    good = np.where(np.arange(30) < 25, y, bad)

    def train(self, learner, n_estimators, **kwargs):
        return KFHEClassifier(learner, n_estimators, random_state=5, **{"reset": "training", **kwargs}).fit(
            self.X, self.y
        )

    @pytest.mark.parametrize("weighting", ["exponential", "linear"])
    def test_resets_follow_the_plain_program(self, scripted, weighting):
        script = (self.half, self.good, self.bad, self.half, self.good, self.bad, self.bad, self.good, self.half)
        learner = scripted(*script)
        model = self.train(learner, 6, weighting=weighting)
        samples = learner.samples
        assert model.resets_.tolist() == [2, 4]

        answers = iter(script)
        drawn = []

        def fit(counts):
            drawn.append(counts)
            return np.eye(3)[next(answers)]

        estimate, weights, trace = plain_kfhe(
            fit, self.X, self.y, 6, 5, weighting=weighting, vote="class", reset="training"
        )
        assert_follows(model, self.X, estimate, weights, trace)
        np.testing.assert_array_equal(samples, drawn)

    def test_at_most_one_reset_per_step(self, scripted):
        learner = scripted(self.half, self.bad)
        model = self.train(learner, 4)
        assert model.resets_.tolist() == [1, 2, 3, 4]
        assert len(learner.samples) == 1 + 2 * 4
        assert len(model.estimators_) == 1 + 4

    def test_no_resets_if_not_wanted(self, scripted):
        learner = scripted(self.half, self.bad)
        model = self.train(learner, 4, reset=None)
        assert model.resets_.tolist() == []
        assert len(learner.samples) == 1 + 4

    def test_exactly_guessing_is_no_better_than_guessing(self, scripted):
        # 1/3 of the rows right is what guessing gets right; one more is better than that.
        guessing = np.where(np.arange(30) < 10, self.y, self.bad)
        assert self.train(scripted(self.half, guessing, self.good), 2).resets_.tolist() == [1]
        better = np.where(np.arange(30) < 11, self.y, self.bad)
        assert self.train(scripted(self.half, better, self.good), 2).resets_.tolist() == []

    @pytest.mark.parametrize("n", [12, 14, 20, 26, 150])
    def test_half_of_two_classes_wrong_is_guessing_for_any_number_of_rows(self, scripted, n):
        y = np.arange(n) % 2
        half = np.where(np.arange(n) < n // 2, y, 1 - y)
        good = np.where(np.arange(n) < n - 2, y, 1 - y)
        model = KFHEClassifier(scripted(good, half, good), 1, random_state=0, reset="training").fit(
            np.arange(float(n))[:, None], y
        )
        assert model.resets_.tolist() == [1]

    def test_only_the_weight_filter_is_reset(self, scripted):
        model = self.train(scripted(self.half, self.good, self.bad, self.good), 3)
        assert model.resets_.tolist() == [2]
        precision = 1 + np.cumsum(1 / model.measurement_errors_)
        np.testing.assert_allclose(model.variances_, 1 / precision)

    def test_the_first_sample_is_all_rows_and_later_ones_are_drawn(self, scripted):
        learner = scripted(self.half, self.good)
        self.train(learner, 3)
        assert learner.samples[0].tolist() == [1] * 30
        for counts in learner.samples[1:]:
            assert counts.sum() == 30
            assert counts.max() > 1

    def test_wrong_rows_are_drawn_more_often(self, scripted):
        learner = scripted(self.good)
        self.train(learner, 60)
        drawn = np.sum(learner.samples[1:], axis=0)
        assert drawn[25:].mean() > 3 * drawn[:25].mean()


class TestBaseLearners:
    iris = load_iris()
    X, labels = iris.data, iris.target_names[iris.target]

    @pytest.mark.parametrize(
        ("estimators", "error", "message"),
        [
            ([], ValueError, "at least one"),
            ([GaussianNB(), 3], TypeError, "must be a classifier"),
            ([GaussianNB(), CARTClassifier()], ValueError, "cannot share a table"),
            ([CARTClassifier(), CARTClassifier(max_bins=9)], ValueError, "cannot share a table"),
        ],
    )
    def test_estimators_in_turn_take_the_same_table(self, estimators, error, message):
        with pytest.raises(error, match=message):
            KFHEClassifier(estimators).fit(self.X, self.labels)

    def test_weights_that_are_no_counts_and_a_learner_that_takes_none(self):
        weights = np.random.default_rng(0).uniform(0.1, 2, 150)
        model = KFHEClassifier(KNeighborsClassifier(), n_estimators=3, random_state=0)
        assert model.fit(self.X, self.labels, sample_weight=weights).score(self.X, self.labels) > 0.9

    def test_fitted_components_predict_for_themselves(self):
        model = KFHEClassifier(n_estimators=3, random_state=0).fit(self.X, self.labels)
        for tree in model.estimators_:
            assert tree.score(self.X, self.labels) > 0.8
            assert tree.get_n_leaves() > 1


def test_weights_equal_to_counts_repeat_rows_for_the_first_classifier(noisy_wine):
    X, y = noisy_wine
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = KFHEClassifier(n_estimators=1, random_state=0).fit(X, y, sample_weight=counts).estimators_[0]
    copies = np.repeat(np.arange(len(y)), counts)
    copied = KFHEClassifier(n_estimators=1, random_state=0).fit(X[copies], y[copies]).estimators_[0]
    np.testing.assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))


def test_wrong_labels_end_up_with_large_weights():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 1))
    y = (X[:, 0] > 0.5).astype(int)
    flipped = rng.permutation(300)[:15]
    y[flipped] = 1 - y[flipped]
    model = KFHEClassifier(CARTClassifier(max_depth=1), n_estimators=10, random_state=0).fit(X, y)
    assert set(np.argsort(model.sample_weights_)[-15:]) == set(flipped)


def test_the_trace_is_drawn_with_its_resets(scripted):
    y = np.arange(30) % 3
    bad = (y + 1) % 3
    good = np.where(np.arange(30) < 25, y, bad)
    model = KFHEClassifier(scripted(good, bad, good), 3, random_state=0).fit(np.arange(30.0)[:, None], y)
    figure = model.plot_trace()
    assert isinstance(figure, Figure)
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].get_lines()}
    np.testing.assert_array_equal(lines["gain K"], model.gains_)
    np.testing.assert_array_equal(lines["variance P"], model.variances_)
    np.testing.assert_array_equal(lines["measurement error R"], model.measurement_errors_)
    np.testing.assert_array_equal(lines["training error"], model.train_errors_)
    assert len(lines) == 4 + 1


class TestPoisson:
    """Samples drawn independently of each other, and sums that do not depend on the order."""

    def test_errors_are_exact_shares(self, noisy_wine):
        X, y = noisy_wine
        model = KFHEClassifier(n_estimators=5, sampling="poisson", random_state=0).fit(X, y)
        n_wrong = model.train_errors_ * len(y)
        np.testing.assert_allclose(n_wrong, n_wrong.round(), atol=1e-9)
        assert model.train_errors_[-1] == pytest.approx(1 - model.score(X, y))
        assert math.fsum(model.sample_weights_) == pytest.approx(1, abs=1e-15)

    def test_the_first_classifier_sees_all_samples_if_weights_are_whole(self, noisy_wine):
        X, y = noisy_wine
        weights = np.arange(len(y)) % 3
        for given in (None, weights):
            first = KFHEClassifier(n_estimators=1, sampling="poisson", random_state=0).fit(X, y, given)[0]
            assert first.tree_.nodes["count"][0] == (len(y) if given is None else weights.sum())
        drawn = KFHEClassifier(n_estimators=1, sampling="poisson", random_state=0).fit(X, y, weights / 3)[0]
        assert drawn.tree_.nodes["count"][0] != weights.sum()

    def test_it_learns_as_well(self, noisy_wine):
        X, y = noisy_wine
        scores = [
            KFHEClassifier(n_estimators=20, sampling=sampling, oob_score=True, random_state=0).fit(X, y).oob_score_
            for sampling in ("multinomial", "poisson")
        ]
        assert scores[0] == pytest.approx(scores[1], abs=0.05)
