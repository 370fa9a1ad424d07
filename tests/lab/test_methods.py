"""Methods come by name or import path, and learn from what tables have: numbers, gaps and categories."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import KFHEClassifier, ensembles, multilabel
from fuselearn._parameters import seed_estimator
from fuselearn.lab import Variant
from fuselearn.lab.methods import METHODS, format_settings, import_method, make_contenders, make_method

FOREIGN = ["sklearn.linear_model:LogisticRegression", "sklearn.ensemble:RandomForestClassifier(n_estimators=20)"]
# SVMs do not take missing values, and HOMERs take seconds.
FOR_LABELS = [name for name in METHODS["multilabel"] if "homer" not in name]


@pytest.fixture(scope="module")
def fruit():
    """Color decides between three kinds, except where it is missing and the width decides."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=240)
    color = pd.Series(np.array(["green", "red", "yellow"])[y])
    color[y == 1] = None
    X = pd.DataFrame(
        {
            "color": color.astype("category"),
            "width [cm], or so": np.where(rng.random(240) < 0.1, np.nan, rng.normal(size=240)),
            "length": rng.normal(size=240),
        }
    )
    return X, y


def made(name, task="multiclass"):
    """Make a small method with a seed."""
    model = seed_estimator(make_method(name, task), 3, same=True)
    known = model.get_params()
    small = {key: 20 for key in known if key.split("__")[-1] in ("n_estimators", "max_iter") and known[key] != 1000}
    return model.set_params(**small)


@pytest.mark.filterwarnings("ignore:Members .* missing values imputed")
@pytest.mark.parametrize("name", [*(name for name in METHODS["multiclass"] if name != "svm"), *FOREIGN])
def test_a_method_learns_from_categories_and_gaps(name, fruit):
    X, y = fruit
    model, again = (made(name).fit(X[:160], y[:160]) for _ in range(2))
    assert (model.predict(X[160:]) == y[160:]).mean() > 0.95
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X)), "the seed decides"
    seen = X["color"] != "yellow"
    assert set(made(name).fit(X[seen], y[seen]).predict(X[~seen])) <= {0, 1}, "a category that training never saw"


def test_histogram_boosting_takes_categories_as_they_are_unless_there_are_too_many(fruit):
    X, y = fruit
    X = X.assign(number=pd.Categorical(np.arange(len(X)) + 100), code=pd.Categorical(np.arange(len(X)) % 3))
    many = pd.concat([X, X.assign(number=pd.Categorical(np.arange(len(X)) + 500))], ignore_index=True)
    many = many.astype({"number": "category"})
    model = make_method("hist-gradient-boosting")
    assert model.fit(X, y)[-1].is_categorical_.sum() == 3
    assert model.fit(many, np.tile(y, 2))[-1].is_categorical_.sum() == 2, "480 numbers are one-hot encoded"


@pytest.mark.filterwarnings("ignore:Members .* missing values imputed")
@pytest.mark.parametrize("name", FOR_LABELS)
def test_a_method_for_labels_learns_from_categories(name, fruit):
    X, y = fruit
    X = X.fillna({"width [cm], or so": 0.0})
    Y = np.column_stack([y == 0, y == 1, X["length"] > 0]).astype(int)
    assert (made(name, "multilabel").fit(X[:160], Y[:160]).predict(X[160:]) == Y[160:]).mean() > 0.8


def test_every_classifier_has_one_name():
    paths = [path for names in METHODS.values() for path in names.values() if path.startswith("fuselearn.")]
    assert len(set(paths)) == len(paths)
    classes = {
        f"{room.__name__}:{name}"
        for room in (ensembles, multilabel)
        for name, kind in vars(room).items()
        if name.endswith("Classifier") and inspect.isclass(kind)
    }
    # Adds a decision rule to another classifier.
    assert classes - set(paths) == {"fuselearn.multilabel:ThresholdedClassifier"}
    for task, names in METHODS.items():
        for name in names:
            assert hasattr(import_method(name, task), "predict")


def test_settings_may_follow_a_name_or_path():
    assert import_method("kfhe(n_estimators=7, weighting='linear')").get_params()["n_estimators"] == 7
    assert import_method("sklearn.svm:SVC (C=0.5)").C == 0.5
    assert import_method("fused", "multilabel").__class__ is multilabel.FusedMultilabelClassifier


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("magic", "A method must be kfhe, fused, .* or the import path of a class .* got 'magic'"),
        ("no_such_module:Classifier", "needs the module no_such_module, which is not installed"),
        ("sklearn.svm:SVCC", "The module sklearn.svm has no SVCC"),
        ("math:pi", "'math:pi' must be a scikit-learn classifier"),
        ("collections:OrderedDict", "must be a scikit-learn classifier"),
        ("kfhe(depth=3)", "cannot be made: .* unexpected keyword argument 'depth'"),
        ("kfhe(3)", "must be NAME=VALUE"),
        ("kfhe(n_estimators=", "must be NAME=VALUE"),
        ("kfhe(n_estimators=print())", "must be NAME=VALUE"),
    ],
)
def test_what_is_no_method_is_refused(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_method(name)


def test_every_random_state_is_set_at_any_depth():
    model = make_pipeline(StandardScaler(), BaggingClassifier(RandomForestClassifier()))
    parameters = seed_estimator(model, 11, same=True).get_params()
    states = [value for name, value in parameters.items() if name.endswith("random_state")]
    assert states == [11, 11]


def test_settings_are_one_line_with_what_is_not_a_default():
    assert format_settings(KFHEClassifier(reset=False)) == "KFHEClassifier(reset=False)"
    forest = format_settings(make_method("random-forest(min_samples_leaf=3)"))
    assert "\n" not in forest
    assert "..." not in forest
    assert forest.endswith("RandomForestClassifier(min_samples_leaf=3))])")


@pytest.mark.parametrize(("task", "name"), [(task, name) for task, names in METHODS.items() for name in names])
def test_settings_are_the_same_in_every_process(task, name):
    """Otherwise a run could not be resumed: the store would take the suite for another one."""
    first, again = (format_settings(make_method(name, task)) for _ in range(2))
    assert first == again
    assert "0x" not in first


def test_one_s_own_estimators_and_variants_go_before_methods():
    own = {"kfhe": KFHEClassifier(reset=False), "Twin": Variant("kfhe", max), "Half": Variant("cart", min)}
    found = make_contenders(["cart", "kfhe", "Twin", "Half"], own, "multiclass")
    assert list(found) == ["cart", "kfhe", "Twin", "Half"]
    assert found["kfhe"].estimator is found["Twin"].estimator is own["kfhe"]
    assert [one.fit_name for one in found.values()] == ["cart", "kfhe", "kfhe", "cart"]
    assert [one.adapt for one in found.values()] == [None, None, max, min]
    assert make_contenders(["Twin"], {"Twin": own["Twin"]}, "multiclass")["Twin"].fit_name == "kfhe"
    for wrong in ("CART", DummyClassifier, 3):
        with pytest.raises(ValueError, match="The method 'Mine' must be a scikit-learn classifier"):
            make_contenders(["Mine"], {"Mine": wrong}, "multiclass")
    assert isinstance(make_contenders(["B"], {"B": GaussianNB()}, "multiclass")["B"].estimator, GaussianNB)
