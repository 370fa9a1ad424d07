"""Predictions block by block are those of the whole, and their text is what pandas writes."""

import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.datasets import DatasetError
from fuselearn.io.header import describe_columns
from fuselearn.io.prediction import format_answers, open_rows, predict_blocks
from fuselearn.multilabel import PCTForestClassifier


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(300, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
    return pd.DataFrame(X, columns=list("abcd")), np.array(["low", "medium", "high"])[y]


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    table[0][["d", "a", "c", "b"]].to_csv(path, index=False)
    return path


@pytest.mark.parametrize("n_jobs", [1, 2, 6])
@pytest.mark.parametrize("as_text", [str, object])
def test_blocks_are_predicted_as_the_whole_is(table, path, n_jobs, as_text):
    X, y = table
    model = KFHEClassifier(n_estimators=3, random_state=0, n_jobs=n_jobs).fit(X, y.astype(as_text))
    answers = list(predict_blocks(model, open_rows(model, path, block_rows=70), proba=True))
    assert [len(answer) for answer in answers] == [70, 70, 70, 70, 20]
    whole = pd.concat(answers, ignore_index=True)
    assert whole["prediction"].tolist() == model.predict(X).tolist()
    assert whole.columns.tolist() == ["prediction", "p:high", "p:low", "p:medium"]
    np.testing.assert_array_equal(whole.iloc[:, 1:], model.predict_proba(X))


def test_a_pipeline_and_classes_that_are_numbers(table, path):
    X, y = table
    model = make_pipeline(StandardScaler(), CARTClassifier(n_jobs=2)).fit(X, np.unique(y, return_inverse=True)[1])
    (answer,) = predict_blocks(model, open_rows(model, path))
    assert answer["prediction"].tolist() == model.predict(X).tolist()


def test_a_search_over_models_of_several_labels(table, path):
    X, y = table
    labels = pd.DataFrame({"is low": y == "low", "is high": y == "high"}).astype(int)
    model = make_pipeline(
        StandardScaler(), GridSearchCV(PCTForestClassifier(2, random_state=0), {"max_depth": [2]}, cv=2)
    )
    (answer,) = predict_blocks(model.fit(X, labels), open_rows(model, path), proba=True)
    assert answer.columns.tolist() == ["is low", "is high", "p:is low", "p:is high"]
    np.testing.assert_array_equal(answer.iloc[:, :2], model.predict(X))


def test_a_model_without_names_takes_the_columns_in_their_order(table, path):
    X, y = table
    model = CARTClassifier().fit(X[["d", "a", "c", "b"]].to_numpy(), y)
    (answer,) = predict_blocks(model, open_rows(model, path))
    assert answer["prediction"].tolist() == model.predict(X[["d", "a", "c", "b"]].to_numpy()).tolist()
    with pytest.raises(DatasetError, match="has 4 columns; the model was trained on 2"):
        open_rows(CARTClassifier().fit(X.iloc[:, :2].to_numpy(), y), path)


def test_stopping_early_and_errors_leave_no_thread(table, path, tmp_path):
    X, y = table
    model = KFHEClassifier(n_estimators=3, random_state=0, n_jobs=2).fit(X, y)
    before = threading.active_count()
    answers = predict_blocks(model, open_rows(model, path, block_rows=10))
    next(answers)
    answers.close()
    assert threading.active_count() == before
    broken = tmp_path / "broken.csv"
    broken.write_text(path.read_text() + "1,2,3,four\n")
    with pytest.raises(DatasetError, match="'b' contains 'four' in line 302"):
        list(predict_blocks(model, open_rows(model, broken, block_rows=10)))
    assert threading.active_count() == before


def test_an_error_of_the_model_is_raised(table, path):
    class Stubborn(CARTClassifier):
        def predict(self, X):
            raise ValueError("no")

    X, y = table
    model = Stubborn().fit(X, y)
    with pytest.raises(ValueError, match="no"):
        list(predict_blocks(model, open_rows(model, path)))


def test_lines_are_those_of_pandas():
    for cells in [
        ["yes", "no, never", 'say "no"', "", " größer\n"],
        [3, 1, 2],
        [True, False],
        [0.1, np.nan],
        ["a", None],
    ]:
        for header in [True, False]:
            columns = [pd.Series(cells), pd.Series(cells, dtype=object)]
            if all(isinstance(cell, str) for cell in cells):
                columns.append(pd.Series(pd.Categorical(cells)))
            for column in columns:
                answers = pd.DataFrame({"prediction": column})
                expected = answers.to_csv(index=False, header=header, lineterminator="\n")
                assert format_answers(answers, header=header) == expected.encode()


def test_several_columns_are_written_by_pandas():
    answers = pd.DataFrame({"prediction": ["x"], "p:x": [0.1]})
    assert format_answers(answers, header=True) == b"prediction,p:x\nx,0.1\n"


def test_columns_are_known_to_fitted_models_only():
    assert describe_columns(CARTClassifier()) is None
    assert describe_columns(CARTClassifier().fit([[0.0], [1.0]], [0, 1])) == [{"name": 0, "type": "number"}]
