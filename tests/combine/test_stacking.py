"""Linear stacking: what it learns from held-out rows, and what it would learn from rows that members have seen."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_multilabel_classification
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, mean_poisson_deviance, mean_squared_error
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fuselearn.combine import LinearStackingClassifier, LinearStackingRegressor
from fuselearn.combine.stacking import (
    SHRINKAGES,
    GivenLoss,
    LogLoss,
    SquaredLoss,
    absolute_error,
    best_shrinkage,
    cross_validate_shrinkage,
)
from fuselearn.combine.weight_solvers import least_squares_weights, log_loss_weights

NUMBERS = [
    ("line", LinearRegression()),
    ("near", KNeighborsRegressor()),
    ("tree", DecisionTreeRegressor(random_state=0)),
]
CLASSES = [
    ("bayes", GaussianNB()),
    ("near", KNeighborsClassifier()),
    ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
]
every_constraint = pytest.mark.parametrize("constraint", [None, "non-negative", "simplex"])


class TestTheLecturesWarning:
    """Naive weights favour the member that has learned the rows by heart; held-out rows show what it is worth."""

    def test_regression(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 4))
        y = X @ [1.0, 2.0, 0.0, 0.0] + rng.normal(size=300)
        members = [("heart", DecisionTreeRegressor(random_state=0)), ("line", LinearRegression())]
        fitted = [(name, clone(member).fit(X, y)) for name, member in members]
        naive = LinearStackingRegressor(fitted, prefit=True).fit(X, y)
        stacked = LinearStackingRegressor(members).fit(X, y)
        assert naive.estimator_weights_[0] > 0.99
        assert stacked.estimator_weights_[0] < 0.2
        X_new = rng.normal(size=(1000, 4))
        y_new = X_new @ [1.0, 2.0, 0.0, 0.0] + rng.normal(size=1000)
        assert stacked.score(X_new, y_new) > naive.score(X_new, y_new) + 0.05

    @pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
    def test_classification(self, loss):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 4))
        y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
        members = [("heart", KNeighborsClassifier(1)), ("line", LogisticRegression())]
        fitted = [(name, clone(member).fit(X, y)) for name, member in members]
        naive = LinearStackingClassifier(fitted, loss=loss, prefit=True).fit(X, y)
        stacked = LinearStackingClassifier(members, loss=loss).fit(X, y)
        assert naive.estimator_weights_[0] > 0.99
        assert stacked.estimator_weights_[0] < 0.2


class TestRegressor:
    X, y = load_diabetes(return_X_y=True)

    @every_constraint
    def test_weights_are_those_of_scikit_learns_out_of_fold_predictions(self, constraint):
        cv = KFold(4, shuffle=True, random_state=0)
        model = LinearStackingRegressor(NUMBERS, constraint=constraint, shrinkage=0.3, cv=cv).fit(self.X, self.y)
        answers = np.stack([cross_val_predict(member, self.X, self.y, cv=cv) for _, member in NUMBERS], axis=1)
        unit = np.sqrt(len(self.y)) * self.y.std()
        np.testing.assert_allclose(
            model.estimator_weights_, least_squares_weights(answers / unit, self.y / unit, constraint, 0.3)
        )
        alone = [clone(member).fit(self.X, self.y).predict(self.X) for _, member in NUMBERS]
        np.testing.assert_allclose(model.predict(self.X), model.estimator_weights_ @ alone)

    def test_units_of_the_target_do_not_matter(self):
        expected = LinearStackingRegressor(NUMBERS, shrinkage=0.1).fit(self.X, self.y).estimator_weights_
        found = LinearStackingRegressor(NUMBERS, shrinkage=0.1).fit(self.X, 1000 * self.y).estimator_weights_
        np.testing.assert_allclose(found, expected, atol=1e-9)

    @every_constraint
    @pytest.mark.parametrize("shrinkage", [0.0, 0.3, "auto"])
    def test_absolute_error_in_plain_steps(self, constraint, shrinkage):
        """The optimum of a linear program or, with shrinkage, no worse than the best weights nearby."""
        cv = KFold(4, shuffle=True, random_state=0)
        settings = {"loss": "absolute_error", "constraint": constraint, "shrinkage": shrinkage, "cv": cv}
        model = LinearStackingRegressor(NUMBERS, **settings).fit(self.X, self.y)
        weights, shrinkage = model.estimator_weights_, model.shrinkage_
        answers = np.stack([cross_val_predict(member, self.X, self.y, cv=cv) for _, member in NUMBERS], axis=1)

        def loss(weights):
            error, unit = (np.abs(self.y - answers @ one).mean() for one in (weights, np.full(3, 1 / 3)))
            return error / unit + (shrinkage * ((weights - 1 / 3) ** 2).sum() if np.isfinite(shrinkage) else 0.0)

        if shrinkage == 0:
            n, identity = len(self.y), np.eye(len(self.y))
            program = linprog(
                np.append(np.zeros(3), np.full(2 * n, 1 / n)),
                A_eq=np.vstack(
                    [np.hstack([answers, identity, -identity]), np.append([1.0, 1.0, 1.0], np.zeros(2 * n))]
                )[: n + (constraint == "simplex")],
                b_eq=np.append(self.y, 1.0)[: n + (constraint == "simplex")],
                bounds=[(None if constraint is None else 0, None)] * 3 + [(0, None)] * (2 * n),
            )
            assert loss(weights) == pytest.approx(loss(program.x[:3]), rel=1e-4)
        for first, second in ((0, 1), (1, 2), (2, 0)):
            step = np.zeros(3)
            step[[first, second]] = 0.03, -0.03  # keeps the sum
            if constraint is None or (weights + step >= 0).all():
                assert loss(weights) <= loss(weights + step) + 1e-4

    @every_constraint
    @pytest.mark.parametrize("shrinkage", [0.0, 0.3, np.inf])
    def test_a_function_as_loss(self, constraint, shrinkage):
        """The squared error as a function is measured in units of that of equal weights, not of the variance."""
        settings = {"constraint": constraint, "cv": KFold(4)}
        answers = np.mean([cross_val_predict(member, self.X, self.y, cv=KFold(4)) for _, member in NUMBERS], axis=0)
        unit = np.mean((self.y - answers) ** 2) / self.y.var()
        model = LinearStackingRegressor(NUMBERS, loss=lambda y, f: (y - f) ** 2, shrinkage=shrinkage, **settings)
        found = model.fit(self.X, self.y).estimator_weights_
        model.set_params(loss="squared_error", shrinkage=shrinkage * unit)
        np.testing.assert_allclose(found, model.fit(self.X, self.y).estimator_weights_, atol=1e-4)

    def test_a_loss_without_a_minimum_is_reported(self):
        model = LinearStackingRegressor(NUMBERS, loss=lambda y, f: -f, constraint="non-negative")
        with pytest.warns(ConvergenceWarning, match="may not be optimal"):
            model.fit(self.X, self.y)

    def test_the_poisson_deviance_chooses_what_it_measures(self):
        rng = np.random.default_rng(0)
        mean = rng.uniform(0.5, 5, 400)
        table, y = np.column_stack([mean, 3 * mean]), rng.poisson(mean)
        members = [("right", LinearRegression(), [0]), ("offset", DummyRegressor(), [1])]

        def deviance(y, f):
            f = np.maximum(f, 1e-3)
            return 2 * (xlogy(y, y / f) - y + f)

        stack = LinearStackingRegressor(members, loss=deviance, shrinkage="auto").fit(table, y)
        assert stack.estimator_weights_[0] > 0.9
        assert mean_poisson_deviance(y, stack.predict(table)) < 1.25

    @pytest.mark.parametrize("function", [lambda y, f: np.mean(y - f), lambda y, f: y - np.inf])
    def test_a_loss_must_be_one_number_per_sample(self, function):
        with pytest.raises(ValueError, match="loss must be a function loss"):
            LinearStackingRegressor(NUMBERS, loss=function).fit(self.X, self.y)
        with pytest.raises(ValueError, match="loss must be 'squared_error' or 'absolute_error', not 'hinge'"):
            LinearStackingRegressor(NUMBERS, loss="hinge").fit(self.X, self.y)

    def test_a_constant_target(self):
        model = LinearStackingRegressor(NUMBERS).fit(self.X, np.full(442, 3.0))
        np.testing.assert_allclose(model.predict(self.X), 3.0)

    def test_auto_shrinkage_takes_the_best_of_its_candidates(self):
        model = LinearStackingRegressor(NUMBERS, shrinkage="auto", constraint=None).fit(self.X, self.y)
        assert model.shrinkage_losses_[model.shrinkage_] == min(model.shrinkage_losses_.values())
        fixed = LinearStackingRegressor(NUMBERS, shrinkage=model.shrinkage_, constraint=None).fit(self.X, self.y)
        np.testing.assert_array_equal(model.estimator_weights_, fixed.estimator_weights_)

    def test_auto_shrinkage_finds_that_equal_members_are_equal(self, says_numbers):
        """Eight members that are equally wrong, and few rows: what differs is chance."""
        rng = np.random.default_rng(0)
        y = rng.normal(size=40)
        rows = np.arange(40.0)[:, None]
        fitted = [(f"m{k}", says_numbers(y + rng.normal(size=40)).fit(rows, y)) for k in range(8)]
        found = LinearStackingRegressor(fitted, shrinkage="auto", constraint=None, prefit=True).fit(rows, y)
        free = LinearStackingRegressor(fitted, constraint=None, prefit=True).fit(rows, y)
        assert found.shrinkage_ > 0
        assert np.ptp(found.estimator_weights_) < np.ptp(free.estimator_weights_)

    def test_time_ordered_splits(self):
        cv = TimeSeriesSplit(5)
        model = LinearStackingRegressor(NUMBERS, cv=cv, constraint="non-negative", shrinkage="auto").fit(self.X, self.y)
        answers, rows = [], []
        for inside, outside in cv.split(self.X):
            fitted = [clone(member).fit(self.X[inside], self.y[inside]) for _, member in NUMBERS]
            answers.append(np.stack([member.predict(self.X[outside]) for member in fitted], axis=1))
            rows.append(outside)
        answers, rows = np.concatenate(answers), np.concatenate(rows)
        assert rows.min() > 0
        unit = np.sqrt(len(rows)) * self.y[rows].std()
        expected = least_squares_weights(answers / unit, self.y[rows] / unit, "non-negative", model.shrinkage_)
        np.testing.assert_allclose(model.estimator_weights_, expected)
        assert model.named_estimators_.line.coef_.tolist() == pytest.approx(
            LinearRegression().fit(self.X, self.y).coef_.tolist()
        )

    def test_one_split_cannot_choose_the_shrinkage(self):
        cv = ShuffleSplit(1, random_state=0)
        assert LinearStackingRegressor(NUMBERS, cv=cv).fit(self.X, self.y).estimator_weights_.sum() == pytest.approx(1)
        with pytest.raises(ValueError, match="shrinkage='auto' compares folds, but cv has a single fold"):
            LinearStackingRegressor(NUMBERS, cv=cv, shrinkage="auto").fit(self.X, self.y)

    def test_row_weights_are_copies(self):
        counts = np.random.default_rng(0).integers(0, 3, 60)
        X, y = self.X[:60], self.y[:60]
        fitted = [(name, clone(member).fit(self.X[60:], self.y[60:])) for name, member in NUMBERS]
        model = LinearStackingRegressor(fitted, prefit=True, shrinkage=0.1, constraint=None)
        weighted = clone(model).fit(X, y, sample_weight=counts).estimator_weights_
        copied = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).estimator_weights_
        np.testing.assert_allclose(weighted, copied)

    def test_several_outputs_share_their_weights(self):
        Y = np.stack([self.y, -1000 * self.y], axis=1)
        together = LinearStackingRegressor(NUMBERS, shrinkage=0.1).fit(self.X, Y)
        alone = LinearStackingRegressor(NUMBERS, shrinkage=0.1).fit(self.X, self.y)
        np.testing.assert_allclose(together.estimator_weights_, alone.estimator_weights_, atol=1e-7)
        np.testing.assert_allclose(
            together.predict(self.X), np.stack([alone.predict(self.X), -1000 * alone.predict(self.X)], axis=1)
        )

    def test_members_without_weight_are_not_asked(self, says_numbers):
        class Silent(type(says_numbers())):
            def predict(self, X):
                if len(X) == 1:
                    raise RuntimeError("asked in vain")
                return super().predict(X)

        y = np.arange(10.0)
        rows = y[:, None]
        members = [("right", says_numbers(y).fit(rows, y)), ("wrong", Silent(-y).fit(rows, y))]
        model = LinearStackingRegressor(members, prefit=True).fit(rows, y)
        assert model.estimator_weights_.tolist() == [1, 0]
        assert model.predict(rows[4:5]).tolist() == [4.0]


class TestClassifier:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])

    def out_of_fold(self, X, y, cv):
        return np.stack([cross_val_predict(member, X, y, cv=cv, method="predict_proba") for _, member in CLASSES])

    @every_constraint
    def test_squared_error_in_plain_steps(self, constraint):
        y = self.names[self.y]
        model = LinearStackingClassifier(CLASSES, loss="squared_error", constraint=constraint, shrinkage=0.01).fit(
            self.X, y
        )
        answers = self.out_of_fold(self.X, y, 5).reshape(3, -1).T
        target = np.eye(3)[self.y].ravel()
        expected = least_squares_weights(answers / np.sqrt(450), target / np.sqrt(450), constraint, 0.01)
        np.testing.assert_allclose(model.estimator_weights_, expected)

    @every_constraint
    def test_log_loss_in_plain_steps(self, constraint):
        X, y = load_breast_cancer(return_X_y=True)
        model = LinearStackingClassifier(CLASSES, constraint=constraint, shrinkage=0.01).fit(X, y)
        answers = self.out_of_fold(X, y, 5)[:, np.arange(len(y)), y].T
        np.testing.assert_allclose(
            model.estimator_weights_, log_loss_weights(answers, np.full(len(y), 1 / len(y)), constraint, 0.01)
        )
        assert model.estimator_weights_.sum() == pytest.approx(1)

    @pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
    @every_constraint
    def test_predictions_are_the_weighted_sum(self, loss, constraint):
        model = LinearStackingClassifier(CLASSES, loss=loss, constraint=constraint, shrinkage=0.01).fit(
            self.X, self.names[self.y]
        )
        summed = np.tensordot(model.estimator_weights_, [m.predict_proba(self.X) for m in model.estimators_], axes=1)
        assert model.predict(self.X).tolist() == self.names[summed.argmax(axis=1)].tolist()
        probabilities = model.predict_proba(self.X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert probabilities.min() >= 0
        positive = np.maximum(summed, 0)
        np.testing.assert_allclose(probabilities, positive / positive.sum(axis=1, keepdims=True))

    def test_several_labels_share_their_weights(self):
        X, Y = make_multilabel_classification(150, 6, n_classes=3, random_state=0)
        members = [("near", KNeighborsClassifier()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]
        model = LinearStackingClassifier(members, loss="squared_error", cv=KFold(3)).fit(X, Y)
        answers = []
        for _, member in members:
            given = cross_val_predict(member, X, Y, cv=KFold(3), method="predict_proba")
            answers.append(np.stack([table[:, 1] for table in given], axis=1).ravel())
        expected = least_squares_weights(np.stack(answers, axis=1), Y.ravel().astype(float), "simplex")
        np.testing.assert_allclose(model.estimator_weights_, expected)
        assert model.predict_proba(X).shape == (150, 3)
        np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > 0.5)
        assert LinearStackingClassifier(members).fit(X, Y).estimator_weights_.sum() == pytest.approx(1)


class TestBadInput:
    X, y = load_iris(return_X_y=True)

    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ({"shrinkage": "much"}, "shrinkage must be 'auto' or a number of at least 0"),
            ({"shrinkage": np.nan}, "shrinkage must be a finite number of at least 0"),
            ({"loss": "hinge"}, "loss must be 'log_loss' or 'squared_error', not 'hinge'"),
            ({"estimators": [("svc", LinearSVC())]}, "'svc' has no predict_proba, which stacking needs"),
        ],
    )
    def test_settings_are_refused_before_any_work(self, settings, sentence):
        model = LinearStackingClassifier(CLASSES).set_params(**settings)
        with pytest.raises(ValueError, match=sentence):
            model.fit(np.full((150, 4), np.nan), self.y)
        with pytest.raises(NotFittedError):
            model.predict(self.X)

    @pytest.mark.parametrize("make", [LinearStackingClassifier, LinearStackingRegressor])
    def test_a_target_is_needed_even_by_fitted_members(self, make):
        members = [
            (name, clone(member).fit(self.X, self.y))
            for name, member in (CLASSES if make is LinearStackingClassifier else NUMBERS)
        ]
        with pytest.raises(ValueError, match="requires y to be passed"):
            make(members, prefit=True).fit(self.X, None)


def test_the_squared_error_is_scikit_learns():
    rng = np.random.default_rng(0)
    loss = SquaredLoss(rng.normal(size=(20, 3)), rng.normal(size=20), rng.random(20))
    weights = np.array([0.5, 0.2, 0.1])
    expected = mean_squared_error(loss.target, loss.outputs @ weights, sample_weight=loss.sample_weights)
    assert loss.total(weights) / loss.sample_weights.sum() == pytest.approx(expected)


def test_the_log_loss_is_scikit_learns():
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(3), size=(2, 20))
    truth = np.arange(20) % 3
    loss = LogLoss(tables[:, np.arange(20), truth].T, truth, rng.random(20))
    mixed = 0.3 * tables[0] + 0.7 * tables[1]
    expected = log_loss(truth, mixed, sample_weight=loss.sample_weights)
    assert loss.total(np.array([0.3, 0.7])) / loss.sample_weights.sum() == pytest.approx(expected)


@pytest.mark.parametrize("kind", [SquaredLoss, LogLoss, partial(GivenLoss, function=absolute_error)])
def test_weights_count_by_their_proportions(kind):
    rng = np.random.default_rng(0)
    table, sample_weights = rng.random((30, 3)), rng.random(30)
    parts = (table, rng.random(30))
    expected = kind(*parts, sample_weights).best_weights("simplex", 0.1)
    np.testing.assert_allclose(kind(*parts, 7 * sample_weights).best_weights("simplex", 0.1), expected, atol=1e-6)


@pytest.mark.parametrize("constraint", [None, "non-negative", "simplex"])
def test_cross_validation_in_plain_steps(constraint):
    rng = np.random.default_rng(0)
    target = rng.normal(size=40)
    loss = SquaredLoss(target[:, None] + rng.normal(size=(40, 4)), target, rng.random(40))
    folds = np.arange(40) % 3
    found = cross_validate_shrinkage(loss, folds, constraint)
    assert set(found) == set(SHRINKAGES)
    for shrinkage in (0.0, 0.1, np.inf):
        errors = np.empty(40)
        for fold in range(3):
            inside, outside = folds != fold, folds == fold
            weights = loss.part(inside).best_weights(constraint, shrinkage)
            errors[outside] = (target[outside] - loss.outputs[outside] @ weights) ** 2
        assert found[shrinkage] == pytest.approx(np.average(errors, weights=loss.sample_weights))


def test_the_least_loss_wins_and_the_strongest_shrinkage_of_equal_ones():
    assert best_shrinkage({0.0: 3.0, 0.1: 2.0, 1.0: 2.5, np.inf: 4.0}) == 0.1
    assert best_shrinkage({0.0: 2.0, 0.1: 2.0, 1.0: 2.0, np.inf: 4.0}) == 1.0
    assert best_shrinkage(dict.fromkeys(SHRINKAGES, 0.0)) == np.inf
