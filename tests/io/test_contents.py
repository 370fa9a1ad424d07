"""A forged tree or machine is refused before anything walks down it or multiplies by it."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_multilabel_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fuselearn import KFHEClassifier, SVMClassifier
from fuselearn.io import ModelFileError, load, save
from fuselearn.io.checks import check_contents
from fuselearn.learners import kernel_table, label_target
from fuselearn.learners.svm import SVMLearner
from fuselearn.multilabel import HOMERClassifier

X, y = load_wine(return_X_y=True)


@pytest.fixture
def tree():
    return DecisionTreeClassifier(random_state=0).fit(X, y)


def forge_tree(model, field, value):
    state = model.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][field][0] = value
    model.tree_.__setstate__(state)


@pytest.mark.parametrize("child", [0, 10**6])
@pytest.mark.parametrize("side", ["left_child", "right_child"])
def test_children_out_of_place(side, child, tree):
    check_contents(tree)
    forge_tree(tree, side, child)
    with pytest.raises(ModelFileError, match="children in the wrong position"):
        check_contents(make_pipeline(StandardScaler(), tree))


@pytest.mark.parametrize("column", [13, 10**6, -1])
def test_a_column_that_does_not_exist(column, tree):
    forge_tree(tree, "feature", column)
    with pytest.raises(ModelFileError, match="feature that does not exist"):
        check_contents({"steps": [tree]})


def test_found_deep_inside_of_a_loaded_model(tmp_path):
    model = KFHEClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0).fit(X, y)
    save(model, tmp_path / "sound.fuse")
    load(tmp_path / "sound.fuse")
    forge_tree(model.estimators_[2], "left_child", 10**6)
    save(model, tmp_path / "forged.fuse")
    with pytest.raises(ModelFileError, match="children in the wrong position"):
        load(tmp_path / "forged.fuse")


@pytest.mark.parametrize(("field", "value"), [("left", 10**6), ("right", 0), ("feature_idx", -1), ("bitset_idx", 9)])
def test_trees_of_histogram_boosting(field, value):
    rows = np.column_stack([X, np.arange(len(X)) % 5])
    target = (rows[:, -1] % 2 == 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[13], random_state=0).fit(rows, target)
    check_contents(model)
    predictor = model._predictors[0][0]
    assert predictor.nodes["is_categorical"][0]
    predictor.nodes[field][0] = value
    with pytest.raises(ModelFileError, match="scikit-learn tree"):
        check_contents(model)


@pytest.fixture(params=["rbf", "linear", "large rbf"])
def block(request, monkeypatch):
    if request.param == "large rbf":
        monkeypatch.setattr(kernel_table, "MOST_SAMPLES", 100)
        monkeypatch.setattr(kernel_table, "N_LANDMARKS", 50)
    learner = SVMLearner(X, SVMClassifier(kernel=request.param.split()[-1]), 1)
    labels = label_target(np.column_stack([y == 0, y == 1, y < 3]).astype(int))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The Gram matrix of")
        block = learner.train(labels, np.ones(len(X), dtype=np.int32), 0)
    learner.release()
    check_contents(block)
    return block


def test_svms_that_do_not_fit_their_table(block):
    machines = block.machines
    for forged in (
        machines._replace(coefficients=machines.coefficients[:, 1:]),
        machines._replace(coefficients=machines.coefficients[:1]),
        machines._replace(intercepts=np.zeros(1)),
        None,
    ):
        block.machines = forged
        with pytest.raises(ModelFileError, match="do not match their table"):
            check_contents(block)


@pytest.mark.parametrize("sample", [-1, 178])
@pytest.mark.parametrize("block", ["rbf"], indirect=True)
def test_support_vectors_out_of_place(block, sample):
    block.machines.support[3] = sample
    with pytest.raises(ModelFileError, match="out of range"):
        check_contents(block)


def test_a_hierarchy_without_end():
    samples, labels = make_multilabel_classification(40, 5, n_classes=6, random_state=0)
    model = HOMERClassifier(n_clusters=2, random_state=0).fit(samples, labels)
    check_contents(model)
    parent = next(node for node in model._fused_.models[0].hierarchy if max(node.children) > 0)
    parent.children[:] = [0] * len(parent.children)
    with pytest.raises(ModelFileError, match="label hierarchy with children in the wrong position"):
        check_contents(model)
