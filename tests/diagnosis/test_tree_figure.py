"""The figure of a tree shows every split and leaf, and the fractions of the classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.diagnosis import plot_tree

IRIS, KINDS = load_iris(return_X_y=True, as_frame=True)
KINDS = np.array(["setosa", "versicolor", "virginica"])[KINDS]


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


class TestTree:
    def test_every_node_is_drawn_once_with_the_words_of_the_text(self):
        model = CARTClassifier(complexity=None, min_samples_split=4).fit(IRIS, KINDS)
        drawn = texts(plot_tree(model))
        assert len(drawn) == len(model.tree_.nodes)
        leaves = [text.split("\n") for text in drawn if " of " in text]
        assert len(leaves) == model.get_n_leaves()
        written = model.export_text()
        for kind, fraction in leaves:
            assert f"class {kind} ({fraction})" in written
        assert all(text in written for text in drawn if " of " not in text)

    def test_leaves_stand_side_by_side_and_splits_between_their_children(self):
        model = CARTClassifier(complexity=None).fit(IRIS, KINDS)
        axes = plot_tree(model).axes[0]
        positions = np.array([text.get_position() for text in axes.texts])
        nodes = model.tree_.nodes
        is_leaf = nodes["feature"] < 0
        assert sorted(positions[is_leaf, 0]) == list(range(model.get_n_leaves()))
        for split in np.flatnonzero(~is_leaf):
            children = positions[[nodes["left"][split], nodes["left"][split] + 1]]
            assert positions[split, 0] == children[:, 0].mean()
            assert positions[split, 1] == children[0, 1] - 1 == children[1, 1] - 1
            assert children[0, 0] < children[1, 0]

    def test_bars_show_the_fractions_of_the_classes(self):
        model = CARTClassifier().fit(IRIS, KINDS)
        widths = [patch.get_width() for patch in plot_tree(model).axes[0].patches]
        np.testing.assert_allclose(np.reshape(widths, (-1, 3)) / 0.7, model.tree_.shares())

    def test_below_max_depth_leaves_are_counted(self):
        model = CARTClassifier(complexity=None, min_samples_split=4).fit(IRIS, KINDS)
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
            (
                KFHEClassifier(),
                TypeError,
                "plot_tree needs a CARTClassifier, not KFHEClassifier; for an ensemble, pass",
            ),
            (CARTClassifier(), NotFittedError, "not fitted"),
        ],
    )
    def test_other_models_are_refused(self, model, error, words):
        with pytest.raises(error, match=words):
            plot_tree(model)

    def test_max_depth_is_a_whole_number(self):
        with pytest.raises(ValueError, match="max_depth"):
            plot_tree(CARTClassifier().fit(IRIS, KINDS), max_depth=-1)
