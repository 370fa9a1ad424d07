"""Typical mistakes of a first hour, and the sentence that each gets: what was expected, and what to do.

What every estimator refuses is tested for each of them in ``test_estimators.py``; here it is read as a stranger would.
"""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.model_selection import GroupKFold
from typer.testing import CliRunner

import fuselearn
from fuselearn import (
    BaggedClassifier,
    BaggedRegressor,
    CARTClassifier,
    FusedClassifier,
    HOMERClassifier,
    KFHEClassifier,
    LinearStackingClassifier,
    SVMClassifier,
)
from fuselearn.cli.main import app
from fuselearn.combine import AveragingRegressor, ErrorCorrectingCodeClassifier
from fuselearn.datasets import load_dataset, read_table
from fuselearn.diagnosis import audit_labels
from fuselearn.ensembles import RotationForestClassifier
from fuselearn.multilabel import iterative_train_test_split, multilabel_scores

X, y = load_iris(return_X_y=True)
X, y = X[::3], y[::3]
FRAME = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
X_LABELS, Y = make_multilabel_classification(60, 6, n_classes=4, random_state=0)
TEXT = np.array([["a", 1.0]] * 50, dtype=object)
TREE = CARTClassifier()
MEMBERS = [("tree", TREE), ("svm", SVMClassifier())]
KFHE = KFHEClassifier(n_estimators=2)


def with_gap(table):
    table = table.copy()
    table[3, 1] = np.nan
    return table


MISTAKES = {
    # tables
    "text in an array": (
        lambda: KFHE.fit(TEXT, y),
        "X is an array that contains the string 'a'. Pass a DataFrame instead: its string columns",
    ),
    "text for an SVM": (
        lambda: SVMClassifier().fit(TEXT, y),
        "X is an array that contains the string 'a'. Pass a DataFrame",
    ),
    "missing values for an SVM": (
        lambda: SVMClassifier().fit(with_gap(X), y),
        "Input X contains NaN, which support vector machines do not support. Impute missing values, for example with "
        "sklearn.impute.SimpleImputer in a pipeline, or use an estimator that supports them: "
        "SVMClassifier(impute=True)",
    ),
    "missing values for HOMER": (
        lambda: HOMERClassifier().fit(with_gap(X_LABELS), Y),
        "PCTForestClassifier or estimator=CARTClassifier() for multi-label data.",
    ),
    "infinite values": (lambda: KFHE.fit(np.where(X > 7, np.inf, X), y), "Input X contains infinity"),
    "dates": (
        lambda: KFHE.fit(FRAME.assign(day=pd.date_range("2020", periods=50)), y),
        "Column 'day' has the type Datetime(time_unit='us', time_zone=None); convert dates and times to numbers or "
        "categories.",
    ),
    "a Series as X": (
        lambda: KFHE.fit(FRAME["sepal width"], y),
        "Pass a DataFrame containing a single row (i.e.",
    ),
    "one sample in one dimension": (
        lambda: KFHE.fit(X, y).predict(X[0]),
        "array.reshape(1, -1) if it contains a",
    ),
    "no samples": (
        lambda: KFHE.fit(FRAME[:0], y[:0]),
        "Found array with 0 sample(s) and 4 feature(s); at least one",
    ),
    "a sparse table for PCA": (
        lambda: RotationForestClassifier(n_estimators=2).fit(sparse.csr_array(X), y),
        "Sparse data was passed for X, but dense data is required. Use '.toarray()'",
    ),
    # targets
    "X and y swapped": (lambda: KFHE.fit(y, X), "Are X and y swapped? fit takes X, the features, first."),
    "X and Y swapped": (
        lambda: HOMERClassifier().fit(Y, X_LABELS),
        "Are X and y swapped? fit takes X, the features,",
    ),
    "y of another length": (lambda: KFHE.fit(X, y[:20]), "X and y have inconsistent numbers of samples: 50 and 20."),
    "missing labels": (
        lambda: KFHE.fit(X, np.where(y == 1, np.nan, y)),
        "Input y contains NaN; every sample needs a",
    ),
    "one class": (
        lambda: KFHE.fit(X, np.zeros(50)),
        "y has one class only (0.0); a classifier needs at least two",
    ),
    "numbers for a classifier": (
        lambda: KFHE.fit(X, X[:, 0]),
        "expects discrete classes on a regression target with",
    ),
    "classes for a regressor": (
        lambda: BaggedRegressor(n_estimators=2).fit(X, np.array(["a", "b"] * 25)),
        "y must be numeric for a regressor.",
    ),
    "several labels for a classifier": (
        lambda: KFHE.fit(X_LABELS, Y),
        "y should be a 1d array, got an array of shape (60, 4) instead. For a multi-label indicator matrix, use a "
        "classifier of fuselearn.multilabel",
    ),
    "several labels for a fused classifier": (
        lambda: FusedClassifier().fit(X_LABELS, Y),
        "FusedClassifier does not support multi-label y; use FusedMultilabelClassifier.",
    ),
    "classes for HOMER": (
        lambda: HOMERClassifier().fit(X, y),
        "y has 1 dimension(s); expected two, with one column per label. Pass a single label as one column, such as "
        "y.reshape(-1, 1) or frame[['label']]. For a column of classes or a continuous target, use an ordinary",
    ),
    "lists of labels": (
        lambda: HOMERClassifier().fit(X_LABELS, [["sad", "calm"], ["calm"]] * 30),
        "sklearn.preprocessing.MultiLabelBinarizer makes an indicator matrix from sets or lists of labels.",
    ),
    "words for labels": (
        lambda: HOMERClassifier().fit(X_LABELS, np.where(Y == 1, "yes", "no")),
        "y must hold 0 and 1, not values of type <U3.",
    ),
    "too few weights": (
        lambda: KFHE.fit(X, y, sample_weight=np.ones(3)),
        "sample_weight must have one weight per sample, shape (50,), not (3,).",
    ),
    "weights of zero": (
        lambda: KFHE.fit(X, y, sample_weight=np.zeros(50)),
        "sample_weight is zero for every sample; at least one weight must be positive.",
    ),
    # parameters
    "a number for the estimator": (
        lambda: BaggedClassifier(10).fit(X, y),
        "estimator must be a classifier or None, not 10. It is the first parameter; pass numbers by name, such as "
        "n_estimators=10.",
    ),
    "a class for the estimator": (
        lambda: BaggedClassifier(SVMClassifier).fit(X, y),
        "Pass an object, such as SVMClassifier(), not its class.",
    ),
    "a regressor for the estimator": (
        lambda: BaggedClassifier(BaggedRegressor()).fit(X, y),
        "estimator must be a classifier or None, not BaggedRegressor().",
    ),
    "a multi-label classifier for the estimator": (
        lambda: BaggedClassifier(HOMERClassifier()).fit(X, y),
        "HOMERClassifier is a multi-label classifier, which KFHEMultilabelClassifier and ThresholdedClassifier accept.",
    ),
    "members without names": (
        lambda: FusedClassifier([TREE, SVMClassifier()]).fit(X, y),
        "estimators must be a list of (name, estimator) or (name, estimator, columns); one of its",
    ),
    "classifiers to average": (
        lambda: AveragingRegressor(MEMBERS).fit(X, y),
        "'tree' must be a regressor;",
    ),
    "a misspelled value": (
        lambda: SVMClassifier(kernel="linaer").fit(X, y),
        "kernel must be 'rbf' or 'linear', not 'linaer'. Did you mean 'linear'?",
    ),
    "a misspelled rule": (
        lambda: HOMERClassifier(decision="perlabel").fit(X_LABELS, Y),
        "or a DecisionRule, not 'perlabel'. Did you mean 'per_label'?",
    ),
    "a misspelled parameter": (lambda: KFHEClassifier().set_params(n_estimator=3), "'n_estimators', 'n_jobs'"),
    "fewer than no members": (
        lambda: KFHEClassifier(n_estimators=-3).fit(X, y),
        "n_estimators must be at least 1, not -3.",
    ),
    "too many bits": (
        lambda: ErrorCorrectingCodeClassifier(n_bits=5).fit(X, y),
        "3 classes can be split into two groups in 3 ways, so n_bits must be at most 3, not 5.",
    ),
    "folds of groups without groups": (
        lambda: FusedClassifier(MEMBERS, cv=GroupKFold(3)).fit(X, y),
        "needs the group of each sample: pass groups=, as in fit(X, y, groups=groups), or the splits as cv=list(",
    ),
    "an audit of groups without groups": (
        lambda: audit_labels(X, y, TREE, cv=GroupKFold(3)),
        "cv=GroupKFold(n_splits=3, random_state=None, shuffle=False) needs the group of each sample: pass groups=",
    ),
    "more folds than samples of a class": (
        lambda: LinearStackingClassifier(MEMBERS, cv=30).fit(X, y),
        "n_splits=30 cannot be greater than the number of members in each class.",
    ),
    # predictions
    "predict before fit": (
        lambda: KFHEClassifier().predict(X),
        "not fitted yet. Call 'fit' with appropriate arguments",
    ),
    "features missing": (
        lambda: KFHE.fit(X, y).predict(X[:, :2]),
        "X has 2 features, but KFHEClassifier is expecting 4",
    ),
    "unknown columns": (
        lambda: KFHE.fit(FRAME, y).predict(FRAME.rename(columns={"sepal width": "width"})),
        "unseen at fit time:\n- width\nFeature names seen at fit time, yet now missing:\n- sepal width",
    ),
    "probabilities for decisions": (
        lambda: multilabel_scores(Y, 0.7 * Y),
        "Y_pred must hold 0 and 1 only, but it has 0.7 at sample 0, label 1. Pass the output of predict, or "
        "probabilities > 0.5; pass probabilities as a separate argument.",
    ),
    "a split without labels": (
        lambda: iterative_train_test_split(X_LABELS),
        "The last array, the labels unless stratify= is passed, must hold 0 and 1 only, but it has 13.0 at sample 0",
    ),
    "a split with an unnamed size": (
        lambda: iterative_train_test_split(X_LABELS, Y, 0.2),
        "Sizes are passed by name, such as test_size=0.2.",
    ),
    # files
    "a misspelled dataset": (lambda: load_dataset("emotion"), "Unknown dataset 'emotion'. Did you mean 'emotions'"),
    "no table": (lambda: read_table("nothing.csv"), "There is no file nothing.csv."),
    "no model": (lambda: fuselearn.load("nothing.fuse"), "There is no file nothing.fuse."),
    "no folder": (lambda: fuselearn.save(KFHE.fit(X, y), "no/where.fuse"), "There is no folder "),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gets_a_sentence(mistake, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError, OSError), match=re.escape(sentence)):
        mistake()


def test_a_pickle_is_not_loaded(tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(TREE))
    with pytest.raises(
        ValueError, match=r"looks like a pickle, and loading a pickle can run any program. Save models with"
    ):
        fuselearn.load(tmp_path / "model.pkl")


COMMANDS = {
    "train plants.csv -o a.fuse -t specis": "has no column 'specis' to use as the target; did you mean 'species'?",
    "train plants.csv -o a.fuse": "does not define a target: name it, or the label columns. The columns are",
    "train plants.csv -o a.fuse -t species -m kfe": "--method must be one of kfhe, fused,",
    "train plants.csv -o b.fuse -t species -m kfe": "cart, svm, not kfe. Did you mean 'kfhe'?",
    "compare plants.csv -t species -m kfe": "such as lightgbm:LGBMClassifier; got 'kfe'. Did you mean 'kfhe'?",
    "train plants.xls -o a.fuse -t species": "has an unknown extension; supported are .csv, .tsv, .arff",
    "train nothing.csv -o a.fuse -t species": "There is no file nothing.csv.",
    "predict plants.csv model.fuse": "plants.csv cannot be read. It is not a model file, or it is damaged.",
    "trian plants.csv": "No such command 'trian'. Did you mean 'train'?",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistaken_command_gets_a_sentence(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("plants.csv", "plants.xls"):
        (tmp_path / name).write_text("length,species\n" + "1,a\n2,b\n" * 20)
    done = CliRunner().invoke(app, command.split(), env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert COMMANDS[command] in done.output
