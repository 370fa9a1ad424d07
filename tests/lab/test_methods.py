"""Every method of the suites runs on the data that suites have: numbers, gaps and categories."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fuselearn import multilabel
from fuselearn._random import seed_estimator
from fuselearn.ensembles import CARTClassifier, KFHEClassifier
from fuselearn.lab.running.methods import METHODS, count_components, make_contenders, settings

INSTALLED = [name for name, method in METHODS.items() if not method.missing and method.task == "multiclass"]
FOR_LABELS = [name for name, method in METHODS.items() if method.task == "multilabel"]


@pytest.fixture(scope="module")
def fruit():
    """Colour decides between three kinds, except where it is missing and the width decides."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=240)
    colour = pd.Series(np.array(["green", "red", "yellow"])[y])
    colour[y == 1] = None
    X = pd.DataFrame(
        {
            "colour": colour.astype("category"),
            "width [cm], or so": np.where(rng.random(240) < 0.1, np.nan, rng.normal(size=240)),
            "length": rng.normal(size=240),
        }
    )
    return X, y


def made(name):
    """Make a method with a seed; gradient boosting with fewer rounds, since its threads wait for each other."""
    model = seed_estimator(METHODS[name].make(), 3, same=True)
    rounds = {"HistGradientBoosting": "max_iter", "HistGradientBoosting (stopped)": "estimator__max_iter"}
    return model.set_params(**{rounds[name]: 20}) if name in rounds else model


@pytest.mark.parametrize("name", INSTALLED)
def test_a_method_learns_from_categories_and_gaps(name, fruit):
    X, y = fruit
    model = made(name).fit(X[:160], y[:160])
    assert (model.predict(X[160:]) == y[160:]).mean() > 0.95
    assert model.predict_proba(X[160:]).shape == (80, 3)


@pytest.mark.parametrize("name", INSTALLED)
def test_a_method_copes_with_a_category_that_training_never_saw(name, fruit):
    X, y = fruit
    train = X["colour"] != "yellow"
    model = made(name).fit(X[train], y[train])
    assert set(model.predict(X[~train])) <= {0, 1}


@pytest.mark.parametrize("name", INSTALLED)
def test_the_seed_decides_the_result(name, fruit):
    X, y = fruit
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.3, (y + 1) % 3, y)
    first, second = (made(name).fit(X[:160], y[:160]).predict_proba(X[160:]) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("name", "components"),
    [("CART", 1), ("AdaBoost", 100), ("Bagging", 100), ("KFHE", 101), ("RandomForest", 100),
     ("ExtraTrees", 100), ("HistGradientBoosting", 60)],
)  # fmt: skip
def test_components_are_counted(name, components, fruit):
    X, y = fruit
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.3, (y + 1) % 3, y)
    assert count_components(made(name).fit(X, y)) == components


@pytest.mark.parametrize("name", [name for name in FOR_LABELS if "HOMER" not in name])
def test_a_method_for_labels_learns_from_categories_and_gaps(name, fruit):
    X, y = fruit
    Y = np.column_stack([y == 0, y == 1, X["length"] > 0]).astype(int)
    model = seed_estimator(METHODS[name].make(), 3, same=True)
    if "n_estimators" in model.get_params():
        model.set_params(n_estimators=20)
    model.fit(X[:160].fillna({"width [cm], or so": 0.0}), Y[:160])
    assert (model.predict(X[160:].fillna({"width [cm], or so": 0.0})) == Y[160:]).mean() > 0.8
    assert count_components(model) >= 1


@pytest.mark.parametrize("name", [name for name in FOR_LABELS if METHODS[name].fits_like])
def test_methods_that_share_a_fit_are_made_from_it(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)))
    Y = (X.to_numpy()[:, :2] + rng.normal(size=(60, 2)) > 0).astype(int)
    lead = seed_estimator(METHODS[METHODS[name].fits_like].make(), 3, same=True)
    if "n_estimators" in lead.get_params():
        lead.set_params(n_estimators=2)
    adapted = METHODS[name].adapt(lead.fit(X, Y), X, Y)
    wanted = METHODS[name].make().get_params()
    for parameter in ("decision", "vote"):
        if parameter in wanted:
            assert adapted.get_params()[parameter] == wanted[parameter]


def test_a_model_that_does_not_say_has_no_number_of_components(fruit):
    X, y = fruit
    model = DecisionTreeClassifier().fit(X[["length"]], y)
    assert count_components(model) is None


def test_the_paper_s_settings():
    assert METHODS["KFHE"].make().get_params()["n_estimators"] == 100
    assert METHODS["KFHE"].make().estimator is None
    assert METHODS["KFHE (pruned)"].make().estimator.complexity == 0.01
    for name in ("AdaBoost", "Bagging"):
        model = METHODS[name].make()
        assert (model.n_estimators, model.estimator) == (100, None)
    assert METHODS["CART"].make().complexity == 0.01
    assert METHODS["CART"].make().min_samples_split == 20


def test_every_random_state_is_set_at_any_depth():
    model = make_pipeline(StandardScaler(), BaggingClassifier(RandomForestClassifier()))
    parameters = seed_estimator(model, 11, same=True).get_params()
    states = {name: value for name, value in parameters.items() if name.endswith("random_state")}
    assert len(states) == 2
    assert set(states.values()) == {11}


def test_settings_are_one_line_with_what_is_not_a_default():
    pruned = settings(METHODS["KFHE (pruned)"].make())
    assert pruned == "KFHEClassifier(estimator=CARTClassifier())"
    assert settings(CARTClassifier(complexity=0.5)) == "CARTClassifier(complexity=0.5)"
    forest = settings(METHODS["RandomForest (leaf 3)"].make())
    assert "\n" not in forest
    assert "..." not in forest
    assert forest.endswith("RandomForestClassifier(min_samples_leaf=3))])")


def test_one_s_own_estimator_goes_before_a_method_of_the_same_name():
    contenders, missing = make_contenders(["CART", "KFHE"], {"KFHE": KFHEClassifier(reset=False)})
    assert list(contenders) == ["CART", "KFHE"]
    assert contenders["KFHE"].estimator.reset is False
    assert missing == {}


def test_only_methods_of_the_library_share_a_fit():
    mine = DecisionTreeClassifier()
    names = ["E-HOMER", "E-HOMER (mean)"]
    shared, _ = make_contenders(names)
    assert {contender.fit_name for contender in shared.values()} == {"E-HOMER (mean)"}
    for own in names:
        contenders, _ = make_contenders(names, {own: mine})
        assert [contender.fit_name for contender in contenders.values()] == names
        assert all(contender.adapt is None for contender in contenders.values())
        assert [name for name in names if isinstance(contenders[name].trained, DecisionTreeClassifier)] == [own]


def test_what_is_no_classifier_is_refused():
    with pytest.raises(ValueError, match="The method 'Mine' must be a scikit-learn classifier"):
        make_contenders(["Mine"], {"Mine": "CART"})


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.missing])
def test_settings_are_the_same_in_every_process(name):
    """Otherwise a run could not be resumed: the store would take the suite for another one."""
    estimator, again = (make_contenders([name])[0][name].estimator for _ in range(2))
    assert settings(estimator) == settings(again)
    assert "0x" not in settings(estimator)


def test_every_multilabel_class_is_a_method():
    """Only the classifier that adds a rule to others is not one by itself."""
    classes = {getattr(multilabel, name) for name in multilabel.__all__ if name.endswith("Classifier")}
    models = [METHODS[name].make() for name in FOR_LABELS]
    made = {type(model[-1] if isinstance(model, Pipeline) else model) for model in models}
    assert classes - made <= {multilabel.ThresholdedClassifier}


@pytest.mark.parametrize(
    ("name", "models"),
    [("CLR", 6), ("2BR", 6), ("LP", 1), ("GradientBoosting (labels)", 200), ("LIFT", 3)],
)
def test_models_are_counted(name, models):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    model = seed_estimator(METHODS[name].make(), 0, same=True)
    if name == "GradientBoosting (labels)":
        model.set_params(decision=0.5)
    assert count_components(model.fit(X, (X + rng.normal(size=X.shape) > 0).astype(int))) == models
