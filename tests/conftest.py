"""Settings for the whole suite, and the public estimators for tests of what all of them promise."""

import importlib
import inspect
import pkgutil

import pytest
from hypothesis import settings
from sklearn.base import BaseEstimator, is_regressor
from sklearn.datasets import load_wine, make_multilabel_classification
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

import fuselearn

# A busy machine must not fail a test, nor a run today that passed yesterday.
settings.register_profile("fuselearn", deadline=None, derandomize=True)
settings.load_profile("fuselearn")


def find_public_estimators():
    """Find every estimator that predicts and that a package of the library names in its ``__all__``."""
    packages = [found.name for found in pkgutil.iter_modules(fuselearn.__path__) if found.ispkg]
    rooms = [fuselearn, *(importlib.import_module(f"fuselearn.{name}") for name in packages)]
    named = {getattr(room, name) for room in rooms for name in getattr(room, "__all__", ())}
    named.remove(fuselearn.scale.DaskEnsemble)  # it is fitted to Dask collections, see tests/scale
    found = [
        one for one in named if inspect.isclass(one) and issubclass(one, BaseEstimator) and hasattr(one, "predict")
    ]
    return sorted(found, key=lambda kind: kind.__name__)


def pytest_generate_tests(metafunc):
    """Run a test that asks for ``public_estimator`` once for each of them."""
    if "public_estimator" in metafunc.fixturenames:
        metafunc.parametrize("public_estimator", find_public_estimators(), ids=lambda kind: kind.__name__)


@pytest.fixture(scope="session")
def make_small():
    """Give a function that makes a small estimator of a class; estimators over others get some that fit."""

    def make(kind, n_estimators=4, **chosen):
        parameters = inspect.signature(kind).parameters
        given = {"n_estimators": n_estimators, "random_state": 0, **chosen}
        given = {name: value for name, value in given.items() if name in parameters}
        if "estimators" in parameters and "estimators" not in given and "Multilabel" not in kind.__name__:
            pair = [DecisionTreeRegressor(max_depth=2), LinearRegression()]
            if "Regressor" not in kind.__name__:
                pair = [fuselearn.CARTClassifier(), GaussianNB()]
            given["estimators"] = list(zip("ab", pair, strict=True))
        if kind is fuselearn.scale.DiskEnsemble:
            given = {
                "estimator": fuselearn.KFHEClassifier(n_estimators=n_estimators, sampling="poisson", random_state=0)
            }
        if "auditor" in parameters:
            given.setdefault("estimator", fuselearn.CARTClassifier())
        required = {name for name, parameter in parameters.items() if parameter.default is parameter.empty}
        if "estimator" in required - set(given):
            given["estimator"] = fuselearn.multilabel.PCTForestClassifier(n_estimators, random_state=0)
        return kind(**given)

    return make


@pytest.fixture(scope="session")
def data_for():
    """Give a function that gives a small table, and a target of the kind that an estimator learns."""
    rows, classes = load_wine(return_X_y=True)
    labelled = make_multilabel_classification(60, 6, n_classes=5, random_state=0)

    def choose(model):
        if is_regressor(model):
            return rows[:, 1:], rows[:, 0]
        return (rows, classes) if get_tags(model).target_tags.single_output else labelled

    return choose


@pytest.fixture(scope="session")
def n_public_estimators():
    return len(find_public_estimators())
