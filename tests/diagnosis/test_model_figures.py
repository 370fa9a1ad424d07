"""Pictures show what the model holds: every split and leaf, every label, the features in order."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import BaggedClassifier, CARTClassifier, FusedClassifier, KFHEClassifier
from fuselearn.diagnosis import plot_hierarchy, plot_importances, plot_tree
from fuselearn.multilabel import (
    BinaryRelevanceClassifier,
    EnsembleHOMERClassifier,
    HOMERClassifier,
    PCTForestClassifier,
)

IRIS, KINDS = load_iris(return_X_y=True, as_frame=True)
KINDS = np.array(["setosa", "versicolor", "virginica"])[KINDS]
ROWS, LABELS = make_multilabel_classification(60, 6, n_classes=8, random_state=0)
LABELS = pd.DataFrame(LABELS, columns=list("abcdefgh"))


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def shown_features(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


class TestTree:
    def test_every_node_is_drawn_once_with_the_words_of_the_text(self):
        model = CARTClassifier(complexity=-1, min_samples_split=4).fit(IRIS, KINDS)
        drawn = texts(plot_tree(model))
        assert len(drawn) == len(model.tree_.nodes)
        leaves = [text.split("\n") for text in drawn if " of " in text]
        assert len(leaves) == model.get_n_leaves()
        written = model.export_text()
        for kind, share in leaves:
            assert f"class {kind} ({share})" in written
        assert all(text in written for text in drawn if " of " not in text)

    def test_leaves_stand_side_by_side_and_splits_between_their_children(self):
        model = CARTClassifier(complexity=-1).fit(IRIS, KINDS)
        axes = plot_tree(model).axes[0]
        places = np.array([text.get_position() for text in axes.texts])
        nodes = model.tree_.nodes
        is_leaf = nodes["feature"] < 0
        assert sorted(places[is_leaf, 0]) == list(range(model.get_n_leaves()))
        for split in np.flatnonzero(~is_leaf):
            children = places[[nodes["left"][split], nodes["left"][split] + 1]]
            assert places[split, 0] == children[:, 0].mean()
            assert places[split, 1] == children[0, 1] - 1 == children[1, 1] - 1
            assert children[0, 0] < children[1, 0]

    def test_bars_show_the_shares_of_the_classes(self):
        model = CARTClassifier().fit(IRIS, KINDS)
        widths = [patch.get_width() for patch in plot_tree(model).axes[0].patches]
        np.testing.assert_allclose(np.reshape(widths, (-1, 3)) / 0.7, model.tree_.shares())

    def test_below_max_depth_leaves_are_counted(self):
        model = CARTClassifier(complexity=-1, min_samples_split=4).fit(IRIS, KINDS)
        drawn = texts(plot_tree(model, max_depth=1))
        assert drawn == ["petal length (cm) < 2.45", "setosa\n50 of 50", f"… {model.get_n_leaves() - 1} leaves"]
        assert texts(plot_tree(model, max_depth=0)) == [f"… {model.get_n_leaves()} leaves"]

    def test_a_tree_without_splits_is_one_leaf(self):
        assert texts(plot_tree(CARTClassifier().fit(IRIS[:10], KINDS[45:55]))) == ["setosa\n5 of 10"]

    def test_categories_are_named_and_long_conditions_cut(self):
        towns = np.array(["Ulm", "Bonn", "Jena", "Kiel", "Hof", "Rostock", "Wismar"])
        frame = pd.DataFrame({"town": pd.Categorical(np.resize(towns, 140))})
        y = np.isin(frame["town"], towns[:4])
        (condition, *_) = texts(plot_tree(CARTClassifier().fit(frame, y)))
        assert condition.startswith("town in {")
        assert len(condition) <= 30

    def test_a_member_of_an_ensemble_is_drawn(self):
        model = KFHEClassifier(n_estimators=2, random_state=0).fit(IRIS, KINDS)
        assert "cm) < " in texts(plot_tree(model.estimators_[0]))[0]

    @pytest.mark.parametrize(
        ("model", "error", "words"),
        [
            (KFHEClassifier(), TypeError, "plot_tree draws a CARTClassifier, not KFHEClassifier; of an ensemble, pass"),
            (CARTClassifier(), NotFittedError, "not fitted"),
        ],
    )
    def test_other_models_are_refused(self, model, error, words):
        with pytest.raises(error, match=words):
            plot_tree(model)

    def test_max_depth_is_a_whole_number(self):
        with pytest.raises(ValueError, match="max_depth"):
            plot_tree(CARTClassifier().fit(IRIS, KINDS), max_depth=-1)


class TestHierarchy:
    def test_all_labels_are_named(self):
        model = HOMERClassifier("tree", random_state=0).fit(ROWS, LABELS)
        assert sorted(texts(plot_hierarchy(model))) == list("abcdefgh")

    def test_members_of_an_ensemble_have_hierarchies_of_their_own(self):
        model = EnsembleHOMERClassifier("tree", n_estimators=2, random_state=0).fit(ROWS, LABELS)
        first, second = (texts(plot_hierarchy(model, member=number)) for number in range(2))
        assert first != second
        assert sorted(first) == sorted(second) == list("abcdefgh")
        with pytest.raises(ValueError, match=r"member must be less than the 2 HOMER\(s\) of the model, not 2"):
            plot_hierarchy(model, member=2)

    def test_other_models_are_refused(self):
        with pytest.raises(TypeError, match="not BinaryRelevanceClassifier"):
            plot_hierarchy(BinaryRelevanceClassifier())


class TestImportances:
    def test_mean_decrease_is_that_of_the_model_in_order(self):
        model = BaggedClassifier(n_estimators=5, random_state=0).fit(IRIS, KINDS)
        figure = plot_importances(model)
        order = np.argsort(-model.feature_importances_, kind="stable")
        assert shown_features(figure) == list(IRIS.columns[order])
        widths = [bar.get_width() for bar in figure.axes[0].patches]
        np.testing.assert_array_equal(widths, model.feature_importances_[order])

    def test_permutation_is_that_of_scikit_learn(self):
        model = CARTClassifier().fit(IRIS, KINDS)
        figure = plot_importances(model, IRIS, KINDS, n_repeats=4, random_state=0)
        expected = permutation_importance(model, IRIS, KINDS, n_repeats=4, random_state=0).importances
        order = np.argsort(-expected.mean(axis=1), kind="stable")
        assert shown_features(figure) == list(IRIS.columns[order])
        (means,) = (line for line in figure.axes[0].lines if line.get_marker() == "o")
        np.testing.assert_array_equal(means.get_xdata(), expected.mean(axis=1)[order])

    def test_several_labels_are_averaged(self):
        model = PCTForestClassifier(3, random_state=0).fit(ROWS, LABELS)
        widths = [bar.get_width() for bar in plot_importances(model).axes[0].patches]
        np.testing.assert_allclose(widths, np.sort(model.feature_importances_.mean(axis=0))[::-1])

    def test_the_least_important_features_are_left_out(self):
        figure = plot_importances(CARTClassifier().fit(IRIS.to_numpy(), KINDS), max_features=2)
        assert shown_features(figure) == ["x[2]", "x[3]"]
        assert figure.axes[0].get_title() == "The 2 most important of 4 features"

    def test_a_pipeline_shows_what_its_last_step_was_fitted_to(self):
        model = make_pipeline(StandardScaler().set_output(transform="pandas"), CARTClassifier()).fit(IRIS, KINDS)
        assert sorted(shown_features(plot_importances(model))) == sorted(IRIS.columns)

    def test_a_model_without_importances_needs_samples(self):
        model = FusedClassifier([("tree", CARTClassifier())], random_state=0).fit(IRIS, KINDS)
        with pytest.raises(TypeError, match="FusedClassifier has no feature_importances_; pass X and y"):
            plot_importances(model)
        assert len(shown_features(plot_importances(model, IRIS, KINDS, n_repeats=2))) == 4

    def test_x_without_y_is_refused(self):
        with pytest.raises(ValueError, match="Permutation needs both X and y"):
            plot_importances(CARTClassifier().fit(IRIS, KINDS), IRIS)


class TestDisplaysOfScikitLearn:
    @pytest.fixture(autouse=True)
    def _without_a_window(self):
        plt.switch_backend("agg")
        yield
        plt.close("all")

    @pytest.mark.parametrize(
        "model", [KFHEClassifier(n_estimators=3), CARTClassifier(), BaggedClassifier(n_estimators=3)], ids=repr
    )
    def test_confusion_matrix(self, model):
        display = ConfusionMatrixDisplay.from_estimator(model.fit(IRIS, KINDS), IRIS, KINDS)
        assert display.confusion_matrix.trace() == round(150 * model.score(IRIS, KINDS))
        assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["setosa", "versicolor", "virginica"]

    @pytest.mark.parametrize(
        "model", [KFHEClassifier(n_estimators=3), CARTClassifier(), BaggedClassifier(n_estimators=3)], ids=repr
    )
    def test_calibration(self, model):
        X, y = load_breast_cancer(return_X_y=True)
        display = CalibrationDisplay.from_estimator(model.fit(X, y), X, y, n_bins=4)
        np.testing.assert_array_equal(display.y_prob, model.predict_proba(X)[:, 1])


def test_notebooks_show_parameters_and_whether_a_model_is_fitted():
    model = KFHEClassifier(CARTClassifier(max_depth=2), n_estimators=2)
    page = model._repr_html_()
    assert "KFHEClassifier" in page
    assert "CARTClassifier" in page
    assert "Not fitted" in page
    assert "<span>Fitted</span>" in model.fit(IRIS, KINDS)._repr_html_()
