"""Labels and their probabilities in every form that estimators and users have."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier

from fuselearn import CARTClassifier
from fuselearn.learners.clones import read_probabilities
from fuselearn.multilabel import BinaryRelevanceClassifier
from fuselearn.multilabel.labels import label_names, read_labels, read_sparse_labels

X, Y = make_multilabel_classification(60, 5, n_classes=3, random_state=0)


class TestLabels:
    def test_sparse_labels_are_sorted_and_without_zeros(self):
        messy = sparse.csr_array((np.array([1, 0, 1]), np.array([2, 1, 0]), np.array([0, 3, 3])), shape=(2, 3))
        labels = read_sparse_labels(messy)
        assert labels.indices.tolist() == [0, 2]
        assert labels.indptr.tolist() == [0, 2, 2]
        assert read_labels(messy).tolist() == [[1, 0, 1], [0, 0, 0]]

    @pytest.mark.parametrize("table", [Y.astype(np.uint8), sparse.csr_array(Y.astype(np.uint8))])
    def test_the_result_is_a_copy(self, table):
        read_labels(table)[:] = 7
        assert table.max() == 1

    def test_names_come_from_frames_only(self):
        assert label_names(Y) is None
        assert label_names(sparse.csr_array(Y)) is None
        assert label_names(pd.DataFrame(Y, columns=["a", "b", "c"])).tolist() == ["a", "b", "c"]
        assert label_names(pd.DataFrame(Y)).tolist() == [0, 1, 2]
        assert label_names(pl.DataFrame(Y, schema=["a", "b", "c"])).tolist() == ["a", "b", "c"]


NAMES = [{"sad", "calm"}, {"calm"}, set()]


@pytest.mark.parametrize(
    "Y",
    [
        NAMES,
        [frozenset(names) for names in NAMES],
        [list(names) for names in NAMES],
        [tuple(names) for names in NAMES],
        [["sad", "calm"], ["calm", "glad"]],
        [["sad"], ["calm"]],
        [[0, 2], [1], []],
        pd.Series(NAMES),
        pd.Series([list(names) for names in NAMES]),
        pl.Series([list(names) for names in NAMES]),
        pd.DataFrame({"moods": NAMES}),
        np.array([*NAMES, None], dtype=object),
    ],
    ids=lambda Y: type(Y).__name__,
)
def test_for_sets_of_labels_the_binarizer_is_named(Y):
    with pytest.raises(ValueError, match=r"sklearn\.preprocessing\.MultiLabelBinarizer") as caught:
        read_labels(Y)
    assert "StratifiedKFold" not in str(caught.value)


@pytest.mark.parametrize(
    ("Y", "sentence"),
    [
        (None, "y is None; expected an indicator matrix"),
        (np.array([0, 1, 1]), "y has 1 dimension.*StratifiedKFold"),
        (np.zeros((2, 2, 2)), "y has 3 dimension"),
        (np.zeros((3, 0)), "3 sample.s. and 0 label"),
        (np.zeros((0, 3)), "0 sample.s. and 3 label"),
        (np.array([[0, 1], [0, 2], [1, 0]]), "y must hold 0 and 1 only, but it has 2 at sample 1, label 1"),
        (np.array([[0, 1], [np.nan, 0], [1, 0]]), "it has NaN at sample 1, label 0"),
        (np.array([[0, 1], [0.5, 0], [1, 0]]), "it has 0.5"),
        (np.array([["a", "b"], ["b", "c"]]), "must hold 0 and 1, not values of type"),
        ([["a", "b"], ["c"]], "MultiLabelBinarizer"),
        (sparse.csr_array([[0, 3], [1, 0]]), "y must hold 0 and 1 only, but it has 3"),
        (sparse.csr_array([[0, np.nan], [1, 0]]), "it has NaN"),
        (pd.DataFrame({"sad": [0, 1], "calm": [1, -1]}), "column 'calm' of y must hold 0 and 1 only, but it has -1"),
        (pl.DataFrame({"sad": [0, 1], "calm": [1, None]}), "column 'calm' of y .* NaN"),
    ],
)
def test_bad_labels_get_a_sentence(Y, sentence):
    for read in (read_labels, read_sparse_labels):
        with pytest.raises(ValueError, match=sentence):
            read(Y)


class TestProbabilities:
    @pytest.mark.parametrize(
        "estimator",
        [
            RandomForestClassifier(5, random_state=0),
            KNeighborsClassifier(),
            MultiOutputClassifier(LogisticRegression()),
            OneVsRestClassifier(LogisticRegression()),
            ClassifierChain(LogisticRegression()),
        ],
        ids=lambda estimator: type(estimator).__name__,
    )
    @pytest.mark.parametrize("n_labels", [1, 3])
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
    def test_every_form_of_scikit_learn_is_read(self, estimator, n_labels):
        table = read_probabilities(estimator.fit(X, Y[:, :n_labels]).predict_proba(X), n_labels)
        assert table.shape == (60, n_labels)
        assert ((table >= 0) & (table <= 1)).all()
        np.testing.assert_array_equal(table > 0.5, np.reshape(estimator.predict(X), (60, n_labels)))

    def test_samples_in_every_bag_have_no_out_of_bag_probability(self):
        with pytest.warns(UserWarning, match="OOB"):
            forest = RandomForestClassifier(2, oob_score=True, random_state=0).fit(X, Y)
        in_every_bag = np.logical_and.reduce([np.isin(np.arange(60), bag) for bag in forest.estimators_samples_])
        assert in_every_bag.any()
        table = read_probabilities(forest.oob_decision_function_, 3)
        np.testing.assert_array_equal(np.isnan(table), np.tile(in_every_bag[:, None], 3))

    @pytest.mark.parametrize("output", [np.zeros((4, 2)), [np.zeros((4, 2))] * 2, np.zeros((4, 3, 3)), np.zeros(4)])
    def test_another_number_of_labels_gets_a_sentence(self, output):
        with pytest.raises(ValueError, match="Expected probabilities of 3 labels"):
            read_probabilities(output, 3)


class TestSeveralTargets:
    """Several targets with several classes each are no labels; the error has an expression that works."""

    NUMBERS = np.random.default_rng(0).integers(0, 4, (60, 2))
    EXPRESSION = "sklearn.multioutput.MultiOutputClassifier(fuselearn.ForestClassifier())"

    @pytest.mark.parametrize(
        "targets", [NUMBERS, np.array(list("abcd"))[NUMBERS], pd.DataFrame(NUMBERS, columns=["color", "size"])]
    )
    def test_the_error_names_what_to_use(self, targets):
        for read in (read_labels, BinaryRelevanceClassifier().fit):
            with pytest.raises(ValueError, match="must hold 0 and 1") as caught:
                read(X, targets) if read is not read_labels else read(targets)
            assert self.EXPRESSION in str(caught.value)

    def test_what_it_names_works(self):
        import sklearn.multioutput

        import fuselearn

        names = {"sklearn": sklearn, "fuselearn": fuselearn}
        model = eval(self.EXPRESSION, names).set_params(estimator__n_estimators=5, estimator__random_state=0)
        targets = np.array(list("abcd"))[self.NUMBERS]
        assert model.fit(X, targets).predict(X).shape == targets.shape
        assert (model.predict(X) == targets).mean() > 0.5

    def test_classifiers_of_one_target_name_it_too(self):
        with pytest.raises(ValueError, match=r"shape \(60, 2\) instead.*fuselearn.multilabel; .*MultiOutputClassifier"):
            CARTClassifier().fit(X, self.NUMBERS)
