"""Predict for the samples of a file in blocks."""

from __future__ import annotations

import csv
import io
import os
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs, parallel_config

from fuselearn.datasets.cleaning import SparseColumns, first_step
from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.files import TableStream, TextFormat, read_columns
from fuselearn.io.header import describe_columns, find_predictor

if TYPE_CHECKING:
    import pandas as pd

SET_COLUMNS = ["set_size", "set"]
"""Of prediction sets: the number of classes, and the classes."""
SEPARATOR = "|"
"""Between the classes of a set in a text file."""
MOST_BLOCKS = 4  # in memory at once; if there are more threads, they share a block


def open_rows(
    model: Any,
    path: str | os.PathLike[str],
    *,
    block_rows: int | None = None,
    form: TextFormat | None = None,
    index: str | Sequence[str] = (),
) -> TableStream:
    r"""Open a file of new samples for a model.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : str or path
        A CSV, TSV, Parquet or ARFF file. Columns are selected by name, in any order; a model that was trained without
        names uses all columns in their order.
    block_rows : int, optional
        Maximum number of samples in memory at once.
    form : TextFormat, optional
        Format of a text file.
    index : str or sequence of str, default=()
        Columns to write before the predictions, such as an identifier.

    Returns
    -------
    TableStream
        Input of `predict_blocks`; its ``ignored`` lists the columns that the model does not use.

    Raises
    ------
    DatasetError
        If columns are missing; the message names them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.io.prediction import open_rows
    >>> model = CARTClassifier(min_samples_split=2).fit(pd.DataFrame({"weight": [150.0, 90.0]}), ["apple", "plum"])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "new.csv")
    >>> _ = path.write_text("name,weight\na,140\nb,80\n")
    >>> rows = open_rows(model, path)
    >>> rows.ignored
    ['name']
    """
    form = form or TextFormat()
    index = [index] if isinstance(index, str) else list(index)
    options: dict[str, Any] = {"form": form} | ({} if block_rows is None else {"block_rows": block_rows})
    columns = describe_columns(model)
    if columns is None:
        raise DatasetError(f"{type(model).__name__} has neither n_features_in_ nor feature_names_in_.")
    if not hasattr(model, "feature_names_in_"):
        names = [name for name in read_columns(Path(path), form) if name not in index]
        if len(names) != len(columns):
            raise DatasetError(
                f"{os.fspath(path)} has {len(names)} columns; the model was trained on {len(columns)}, without names."
            )
        return TableStream(path, others=names, index=index, **options)
    wanted: dict[str, Any] = {"numbers": [], "texts": [], "others": []}
    for column in columns:
        wanted[_reading(column)].append(column["name"])
    as_matrix = isinstance(first_step(model), SparseColumns)
    return TableStream(path, **wanted, index=index, as_matrix=as_matrix, **options)


def _reading(column: dict[str, Any]) -> str:
    """Return how the cells of a column are read; dates, Booleans and words among numbers are text in a file."""
    if "type" not in column:
        return "others"
    return "numbers" if column["type"] == "number" and not column.get("words") else "texts"


def predict_blocks(
    model: Any,
    rows: TableStream,
    *,
    proba: bool = False,
    sets: float | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Generator[pd.DataFrame]:
    r"""Predict for blocks of samples, while the next blocks are read.

    Parameters
    ----------
    model : estimator
        Fitted.
    rows : TableStream
        From `open_rows`.
    proba : bool, default=False
        Whether to return probabilities with the predictions.
    sets : float, optional
        Coverage of the prediction sets to return with the predictions, by a model that has ``predict_set``.
    renamed : mapping of str to str, optional
        New names for columns of the index, such as true labels with the names of predictions.

    Yields
    ------
    DataFrame
        The column ``prediction``, categorical if classes are text, or one column of 0 and 1 per label; with ``sets``,
        also ``set_size``, a number of classes, and ``set``, a list of them; with ``proba``, also a column ``p:NAME``
        with the probability of each class or label. The columns of ``index`` come first. A file without samples yields
        one empty DataFrame.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.io.prediction import open_rows, predict_blocks
    >>> model = CARTClassifier(min_samples_split=2).fit(pd.DataFrame({"weight": [150.0, 90.0]}), ["apple", "plum"])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "new.csv")
    >>> _ = path.write_text("name,weight\na,140\nb,80\n")
    >>> rows = open_rows(model, path)
    >>> [block["prediction"].tolist() for block in predict_blocks(model, rows)]
    [['apple', 'plum']]
    """
    n_threads = effective_n_jobs(getattr(find_predictor(model), "n_jobs", None))
    each_alone = 1 < n_threads <= MOST_BLOCKS
    n_blocks = n_threads if each_alone else 1
    waiting: deque[Future[pd.DataFrame]] = deque()
    pool = ThreadPoolExecutor(n_blocks)
    predict = partial(_predict, model, proba=proba, coverage=sets, alone=each_alone, renamed=renamed or {})
    try:
        with closing(iter(rows)) as blocks:
            for block in blocks:
                waiting.append(pool.submit(predict, block))
                if len(waiting) > n_blocks:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def format_answers(answers: pd.DataFrame, *, header: bool = False) -> bytes:
    r"""Write predictions as lines of a CSV file.

    Predictions are one of a few classes, so each line is formatted once and reused. Lines with more than a class are
    formatted by pandas.

    Parameters
    ----------
    answers : DataFrame
        From `predict_blocks`.
    header : bool, default=False
        Whether to write the names of the columns first.

    Returns
    -------
    bytes
        The lines in UTF-8.

    Examples
    --------
    >>> import pandas as pd
    >>> format_answers(pd.DataFrame({"prediction": ["yes", "no, never", "yes"]}), header=True)
    b'prediction\nyes\n"no, never"\nyes\n'
    """
    import pandas as pd

    if "set" in answers and all(isinstance(classes, list) for classes in answers["set"]):
        answers = answers.assign(set=[SEPARATOR.join(map(str, classes)) for classes in answers["set"]])
    if len(answers.columns) > 1 or answers.iloc[:, 0].dtype.kind == "f":
        return answers.to_csv(index=False, header=header, lineterminator="\n").encode()
    predicted = answers.iloc[:, 0]
    if isinstance(predicted.dtype, pd.CategoricalDtype):
        numbers, classes = predicted.cat.codes.to_numpy(), predicted.cat.categories
    else:
        numbers, classes = pd.factorize(predicted, use_na_sentinel=False)
    lines = np.array([_format_line(None if pd.isna(name) else name) for name in classes], dtype=object)
    title = _format_line(predicted.name) if header else b""
    return title + b"".join(lines[numbers].tolist())


def _format_line(cell: Any) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([cell])
    return line.getvalue().encode()


def _predict(
    model: Any, block: pd.DataFrame, proba: bool, coverage: float | None, alone: bool, renamed: Mapping[str, str]
) -> pd.DataFrame:
    """Predict for a block, with a single thread if the other threads have their own blocks."""
    if block.shape[0] == 0:
        answer = _tabulate(model, *_no_predictions(model, proba, coverage))
    else:
        rows = _arrange(block, getattr(model, "feature_names_in_", None))
        with parallel_config("sequential") if alone else nullcontext():
            predicted = np.asarray(model.predict(rows))
            probabilities = model.predict_proba(rows) if proba else None
            sets = None if coverage is None else _predict_set(model, rows, coverage)
        answer = _tabulate(model, predicted, probabilities, sets)
    if getattr(block, "index", None) is not None and block.index.names[0] is not None:
        for place, column in enumerate(block.index.names):
            name = renamed.get(column, column)
            if name in answer.columns:
                raise DatasetError(
                    f"The column {name!r} cannot be kept: a column of the predictions has the same name."
                )
            answer.insert(place, name, block.index.get_level_values(place))
    return answer


def _predict_set(model: Any, X: Any, coverage: float) -> npt.NDArray[np.bool_]:
    """Predict sets, also for pipelines and searches, which do not have ``predict_set``."""
    if hasattr(model, "best_estimator_"):
        return _predict_set(model.best_estimator_, X, coverage)
    if hasattr(model, "steps"):
        for _, step in model.steps[:-1]:
            X = X if step in (None, "passthrough") else step.transform(X)
        return _predict_set(model.steps[-1][1], X, coverage)
    sets: npt.NDArray[np.bool_] = model.predict_set(X, coverage)
    return sets


def _no_predictions(model: Any, proba: bool, coverage: float | None) -> tuple[Any, Any, Any]:
    """Return empty predictions, probabilities and sets, since models raise an error for empty tables."""
    predictor = find_predictor(model)
    labels, classes = getattr(predictor, "labels_", None), getattr(predictor, "classes_", ())
    names = classes if labels is None else labels
    predicted = np.asarray(classes)[:0] if labels is None else np.empty((0, len(labels)), dtype=np.int64)
    empty = np.empty((0, len(names)))
    return predicted, empty if proba else None, None if coverage is None else empty.astype(bool)


def _arrange(block: Any, names: Any) -> Any:
    """Return the samples with the model's features in order, or without names if it has none."""
    if names is None:
        return block.to_numpy()
    if not hasattr(block, "columns"):  # a sparse array was read in the right order
        return block
    return block if list(block.columns) == list(names) else block[list(names)]


def _tabulate(model: Any, predicted: npt.NDArray[Any], probabilities: Any, sets: Any = None) -> pd.DataFrame:
    import pandas as pd

    predictor = find_predictor(model)
    if predicted.ndim == 2:
        names = [str(name) for name in getattr(predictor, "labels_", range(predicted.shape[1]))]
        answer = pd.DataFrame(predicted, columns=names)
    else:
        classes = getattr(predictor, "classes_", None)
        names = [] if classes is None else [str(name) for name in classes]
        answer = pd.DataFrame({"prediction": _as_categories(predicted, classes)})
    if sets is not None:
        patterns, numbers = np.unique(sets, axis=0, return_inverse=True)
        listed = [np.asarray(predictor.classes_)[pattern].tolist() for pattern in patterns]
        answer["set_size"], answer["set"] = sets.sum(axis=1), [listed[number] for number in numbers.ravel()]
    if probabilities is not None:
        answer = pd.concat([answer, pd.DataFrame(probabilities, columns=[f"p:{name}" for name in names])], axis=1)
    return answer


def _as_categories(predicted: npt.NDArray[Any], classes: npt.NDArray[Any] | None) -> Any:
    """Convert text classes to categories, since pandas handles strings slowly."""
    import pandas as pd

    if predicted.dtype.kind == "U" and classes is not None:
        numbers = np.searchsorted(classes, predicted)
        if np.array_equal(classes.take(numbers, mode="clip"), predicted):
            return pd.Categorical.from_codes(numbers, classes)
    return predicted
