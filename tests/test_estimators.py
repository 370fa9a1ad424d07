"""What every public estimator promises, tested once for each: one list of estimators, one test per promise."""

import copy
import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from fuselearn import load, save
from fuselearn.io import read_header
from fuselearn.multilabel.checks import check_multilabel_estimator
from tests.contract.any_input import run_cases
from tests.contract.bad_parameters import values_for, words_for
from tests.contract.registry import (
    LABEL_VARIANTS,
    NUMBERS_ONLY,
    ORDER,
    REGISTRY,
    VARIANTS,
    answer,
    entries,
    find_public_classes,
    find_reasons,
    predicts,
)

pytestmark = [
    pytest.mark.usefixtures("threads"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:n_clusters", "ignore:labelset_size", "ignore:Some inputs do not have OOB"),
    pytest.mark.filterwarnings("ignore:Members .* missing values imputed"),
]


def test_every_public_class_has_an_entry():
    assert {entry.kind for entry in REGISTRY.values()} == find_public_classes()


class AnyTwoNumbers:
    """Take labels of any two neighboring numbers, as many of scikit-learn's checks send them, for 0 and 1."""

    def fit(self, X, y, sample_weight=None):
        labels = np.asarray(y)
        are_two = labels.dtype.kind in "iuf" and labels.size > 0 and np.ptp(labels) == 1
        return super().fit(X, labels - labels.min() if are_two else y, sample_weight)


# Pickling needs the adapted classes by name.
ADAPTED = {
    entry.kind: type(f"{name}OfTwoNumbers", (AnyTwoNumbers, entry.kind), {"__module__": __name__})
    for name, entry in REGISTRY.items()
    if entry.task == "labels"
}
globals().update({adapted.__name__: adapted for adapted in ADAPTED.values()})
EVERYTHING = REGISTRY | VARIANTS | LABEL_VARIANTS


@pytest.mark.parametrize("name", [*REGISTRY, *VARIANTS])
def test_checks_of_scikit_learn(name):
    entry = EVERYTHING[name]
    model = ADAPTED.get(entry.kind, entry.kind)(**entry.model.get_params(deep=False))
    known = find_reasons(entry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=known, on_skip=None, on_fail=None)
    failed = [one["exception"] for one in results if one["status"] == "failed"]
    if failed:
        names = [one["check_name"] for one in results if one["status"] == "failed"]
        raise ExceptionGroup(f"{name} fails {', '.join(names)}", failed)
    surprises = {one["check_name"] for one in results if one["status"] == "passed"} & set(entry.fails)
    assert not surprises, f"{name} was expected to fail {surprises}"
    assert len(results) > 40


@pytest.mark.parametrize("name", [name for name, entry in EVERYTHING.items() if entry.task == "labels"])
def test_checks_of_multilabel_classifiers(name):
    entry = EVERYTHING[name]
    known = {check: reason for check, reason in entry.fails.items() if check in ORDER | NUMBERS_ONLY}
    check_multilabel_estimator(entry.model, known)


def every_name(model):
    """List the names of a class and of an object, also those that ``dir`` hides because they are not available."""
    return sorted({name for kind in type(model).__mro__ for name in vars(kind)} | set(vars(model)))


def touch_everything(model):
    for name in every_name(model):
        try:
            getattr(model, name)
        except AttributeError:
            pass  # NotFittedError is one
        except Exception as error:
            raise AssertionError(f"{type(model).__name__}.{name} raises {error!r}") from error
    assert "fit" in dir(model)
    assert type(model).__name__ in model._repr_html_()
    assert type(model).__name__ in repr(model)


@entries()
def test_every_attribute_can_be_looked_at_before_and_after_fit(entry):
    model = entry.make()
    touch_everything(model)
    touch_everything(model.fit(*entry.samples()))


@entries()
def test_the_same_seed_gives_the_same_model_whatever_n_jobs(entry):
    X, _ = entry.samples()
    expected = answer(entry.fit(), X)
    np.testing.assert_array_equal(answer(entry.fit(), X), expected)
    if entry.takes("n_jobs"):
        np.testing.assert_array_equal(answer(entry.fit(n_jobs=2), X), expected)


@entries()
def test_clones_pickles_and_files_predict_the_same(entry, tmp_path):
    X, y = entry.samples()
    model = entry.fit()
    expected = answer(model, X)
    np.testing.assert_array_equal(answer(clone(model).fit(X, y), X), expected)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for _ in range(2):  # once more, now that the model may have prepared itself for prediction
        save(model, tmp_path / "model.fuse")
        copies.append(load(tmp_path / "model.fuse"))
    arrays = {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    for again in copies:
        np.testing.assert_array_equal(answer(again, X), expected)
        assert repr(again) == repr(model)
        for name, value in arrays.items():
            np.testing.assert_array_equal(getattr(again, name), value)
    if predicts(entry):
        np.testing.assert_array_equal(copies[-1].predict(X), model.predict(X))
        header = read_header(tmp_path / "model.fuse")
        assert header["training_shape"] == list(X.shape)
        assert ("classes" in header, "labels" in header) == (entry.task == "classes", entry.task == "labels")
        steps = make_pipeline(StandardScaler(), entry.make()).fit(X, y)
        save(steps, tmp_path / "steps.fuse")
        np.testing.assert_array_equal(answer(load(tmp_path / "steps.fuse"), X), answer(steps, X))


@entries(predicts)
def test_another_fit_forgets_the_first(entry):
    X, y = entry.samples()
    kept = y > 0 if entry.task == "classes" else np.arange(len(y)) % 5 > 0
    others = X[kept, 1:], (y[kept, 1:] if entry.task == "labels" else y[kept])
    again = entry.fit().fit(*others)
    np.testing.assert_array_equal(answer(again, others[0]), answer(entry.make().fit(*others), others[0]))
    assert again.n_features_in_ == X.shape[1] - 1


@entries(lambda entry: entry.copies and predicts(entry))
def test_whole_weights_are_copies(entry):
    X, y = entry.samples()
    counts = np.arange(len(y)) % 3 + (np.arange(len(y)) % 2)
    weighted = entry.make().fit(X, y, sample_weight=counts)
    copied = entry.make().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0))
    close = np.isclose(answer(weighted, X), answer(copied, X), atol=1e-4)
    assert close.mean() > 0.9 if entry.task == "values" else close.all()  # rounding decides between equal splits


@entries(lambda entry: predicts(entry) and not entry.folds)
def test_samples_without_weight_do_not_count(entry):
    X, y = entry.samples()
    weights = np.where(np.arange(len(y)) % 3 > 0, 1.5, 0.0)
    changed = np.where((weights > 0)[:, None] if y.ndim == 2 else weights > 0, y, y[::-1])
    given, other = (entry.make().fit(X, target, sample_weight=weights) for target in (y, changed))
    np.testing.assert_allclose(answer(other, X), answer(given, X), atol=1e-9)


def check_unfitted(model):
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("__")]
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def complain(entry, name, value):
    """Tell what is wrong with how an estimator refuses a value; return nothing if all is well."""
    model = entry.make()
    setattr(model, name, value)
    try:
        model.fit(*entry.samples())
    except (ValueError, TypeError) as error:
        message = str(error)
        if predicts(entry):
            check_unfitted(model)
        if not any(word in message.lower() for word in words_for(name)) or len(message.split()) < 4:
            return f"{name}={value!r} is refused without its name: {message}"
        return f"{name}={value!r}: NumPy's way to write numbers: {message}" if "np." in message else None
    except Exception as error:
        return f"{name}={value!r} raises {error!r}"
    return f"{name}={value!r} is accepted"


@entries()
def test_bad_parameters_get_a_sentence(entry):
    """A parameter that is new needs values in ``bad_parameters.py``."""
    complaints = [
        complaint
        for name in inspect.signature(entry.kind).parameters
        for value in values_for(entry, name)
        if (complaint := complain(entry, name, value))
    ]
    assert not complaints, "\n".join(complaints)


def bad_targets(entry):
    """Make targets of 20 samples that nothing can be learned from, with a part of the message."""
    yield None, "y"
    if entry.task == "values":
        yield from (
            (np.where(np.arange(20) > 3, np.nan, 1.0), "NaN"),
            (np.where(np.arange(20) > 3, np.inf, 1.0), "infinity"),
            (np.repeat("a", 20), "y|float|a"),
            (np.arange(19.0), "inconsistent numbers of samples|has 20 samples"),
        )
        return
    halves = np.repeat([0.0, 1.0], 10)
    yield from (
        (np.where(np.arange(20) == 7, np.nan, halves), "NaN"),
        (np.array([None, *"ab" * 9, "a"], dtype=object), "NaN"),
        (pd.Series([1, None] * 10, dtype="Int64"), "NaN"),
        (np.repeat("a", 20), "one class|1 class"),
        (np.linspace(0, 1, 20), "continuous"),
        (np.array(["a", 1] * 10, dtype=object), "y"),
        (np.eye(3, dtype=int)[np.arange(20) % 3], "1d|label"),
        (halves[:19], "inconsistent numbers of samples|has 20 samples"),
    )


BAD_WEIGHTS = [np.zeros(20), -np.ones(20), np.full(20, np.nan), np.ones(19), np.append(np.ones(19), np.inf), "heavy"]


@pytest.mark.filterwarnings("ignore")
@entries(lambda entry: entry.task in ("classes", "values"))
def test_bad_targets_tables_and_weights_get_a_sentence(entry):
    """Labels: see the checks of multi-label classifiers."""
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    fitted = entry.make().fit(X, y)
    cases = [(X, target, None, match) for target, match in bad_targets(entry)]
    cases += [(X, y, weights, "(?i)sample.weight|weights") for weights in BAD_WEIGHTS]
    cases += [
        (X[:0], y[:0], None, r"0 sample\(s\)|no samples"),
        (X[:, :0], y, None, r"0 feature\(s\)|no features"),
        (np.where(X == 3, np.inf, X), y, None, "infinity"),
        (pd.DataFrame(np.where(X == 3, np.inf, X), columns=["a", "b"]), y, None, "infinit"),
        (pd.DataFrame(X, columns=["a", "a"]), y, None, "(?i)column names|duplicate|unique"),
        (np.array([["a", "b"]] * 20, dtype=object), y, None, "contains the string|string to float"),
    ]
    for table, target, weights, match in cases:
        given = {} if weights is None else {"sample_weight": weights}
        with pytest.raises((ValueError, TypeError), match=match):
            fitted.fit(table, target, **given)
        check_unfitted(fitted)
    fitted.fit(X, y)
    for table in (X[:, :1], np.hstack([X, X])):
        with pytest.raises(ValueError, match="2 features"):
            fitted.predict(table)
    with pytest.raises(ValueError, match="infinity"):
        fitted.predict(np.where(X == 3, np.inf, X))


# Twelve samples whose class follows from the color, and a feature of every kind beside it.
COLUMNS = {
    "size": [1.5, None, 2.5, 2.0, 1.0, 3.0] * 4,
    "color": ["red", "blue", "green", "red", "blue", "green"] * 4,
    "is_new": [True, False, True, False, True, False] * 4,
    "number": [3, 1, 4, 2, 5, 6] * 4,
}
WARM = np.array([True, False, False, True, False, False] * 4)


def target_of(entry):
    """Say what a sample is by its color, for each task."""
    targets = {"classes": np.where(WARM, "warm", "cold"), "values": 10.0 * WARM}
    return targets.get(entry.task, np.column_stack([WARM, ~WARM, np.arange(24) % 4 == 0]).astype(int))


def columns_for(entry):
    return COLUMNS if entry.missing else {name: values for name, values in COLUMNS.items() if name != "size"}


def finds_the_color(entry, model, X):
    answers = answer(model, X)
    if entry.task == "labels":
        answers = answers[:, 0]
    if entry.task == "classes":
        answers = answers[:, 1]
    return answers[WARM].mean() > answers[~WARM].mean() + 0.1


@entries(lambda entry: entry.categories)
def test_frames_of_pandas_and_polars_with_categories(entry):
    columns, y = columns_for(entry), target_of(entry)
    pandas, polars = pd.DataFrame(columns), pl.DataFrame(columns)
    model = entry.make().fit(pandas, y)
    assert model.feature_names_in_.tolist() == list(columns)
    assert finds_the_color(entry, model, pandas)
    expected = answer(model, pandas)
    np.testing.assert_array_equal(answer(model, polars), expected)
    np.testing.assert_array_equal(answer(entry.make().fit(polars, y), polars), expected)
    declared = pandas.astype({"color": "category", "number": "Int64", "is_new": "boolean"})
    if entry.missing:
        declared.loc[3, ["number", "is_new"]] = pd.NA
    assert finds_the_color(entry, entry.make().fit(declared, y), declared)
    for kind in (pl.Categorical, pl.Enum(["green", "red", "blue"])):
        cast = polars.with_columns(pl.col("color").cast(kind))
        assert finds_the_color(entry, entry.make().fit(cast, y), cast)
    unknown = pandas.assign(color=["pink", "red", "blue"] * 8)
    assert np.isfinite(answer(model, unknown)).all()
    with pytest.raises((TypeError, ValueError), match=r"categor|string"), pytest.warns(UserWarning, match="names"):
        model.predict(np.zeros((1, len(columns))))


@entries(predicts)
def test_frames_of_numbers(entry):
    X, y = entry.samples()
    expected = answer(entry.fit(), X)
    names = [f"feature {f}" for f in range(X.shape[1])]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = entry.make().fit(frame, y)
        assert model.feature_names_in_.tolist() == names
        np.testing.assert_allclose(answer(model, frame), expected, atol=1e-9)
        with pytest.raises(ValueError, match=r"(?i)feature"):
            model.predict(frame[names[::-1]])
        with pytest.raises(ValueError, match=r"(?i)feature"):
            model.predict(frame[names[1:]])
    unnamed = entry.make().fit(pd.DataFrame(X), y)
    assert not hasattr(unnamed, "feature_names_in_")
    np.testing.assert_allclose(answer(unnamed, X), expected, atol=1e-9)


@entries(predicts)
def test_lists_layouts_and_sparse_tables(entry):
    X, y = entry.samples()
    X = np.where(X.mean(axis=0) < X, X, 0.0).round(2)
    expected = answer(entry.make().fit(X, y), X)
    for table, target in ((X.tolist(), y.tolist()), (np.asfortranarray(X), y)):
        np.testing.assert_allclose(answer(entry.make().fit(table, target), table), expected, atol=1e-9)
    for form in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix):
        if get_tags(entry.model).input_tags.sparse and "check_estimator_sparse_tag" not in entry.fails:
            model = entry.make().fit(form(X), y)
            np.testing.assert_allclose(answer(model, form(X)), expected, atol=0.1 if entry.task == "values" else 5e-3)
        else:
            with pytest.raises(TypeError, match=r"(?i)sparse|dense"):
                entry.make().fit(form(X), y)


@entries(predicts)
def test_missing_values(entry):
    X, y = entry.samples()
    X[::7, 0] = np.nan
    assert get_tags(entry.model).input_tags.allow_nan == entry.missing
    if entry.missing:
        model = entry.make().fit(X, y)
        assert np.isfinite(answer(model, X)).all()
        assert model.predict(np.full((1, X.shape[1]), np.nan)).shape[0] == 1
    else:
        with pytest.raises(ValueError, match="NaN"):
            entry.make().fit(X, y)


@entries(lambda entry: entry.task == "classes")
def test_classes_of_all_types_in_any_container(entry):
    X = np.arange(40.0)[:, None] + np.array([[0.0, 1.0]])
    ours = [] if entry.takes("estimators") else [[b"a", b"b"]]  # scikit-learn's classifiers refuse bytes
    for classes in ([False, True], ["no", "yes"], [-1, 1], [0.0, 2.0], ["é", "ü"], *ours):
        y = np.repeat(classes, 20)
        model = entry.make().fit(X, y)
        assert model.classes_.tolist() == classes
        assert model.classes_.dtype == y.dtype
        assert (model.predict(X) == y).mean() > 0.85
        assert model.predict(X).dtype == y.dtype
    y = np.repeat(["no", "yes"], 20)
    expected = answer(entry.make().fit(X, y), X)
    series = pd.Series(y)
    for target in (y.tolist(), series, series.astype("category"), series.astype("string"), pl.Series(y)):
        np.testing.assert_array_equal(answer(entry.make().fit(X, target), X), expected)


@entries(lambda entry: entry.task == "classes")
def test_classes_have_the_type_of_y(entry):
    X = np.arange(40.0)[:, None] + np.array([[0.0, 1.0]])
    y = np.repeat([0, 1], 20)
    words = np.repeat(np.array(["no", "yes"], dtype=object), 20)
    for target, expected in (
        (pd.Series(y, dtype="Int64"), np.int64),
        (pd.Series(y, dtype="UInt8"), np.uint8),
        (pd.DataFrame({"y": pd.Series(y, dtype="Int64")}), np.int64),
        (pd.Series(y, dtype="Int64").astype("category"), np.int64),
        (pd.array(y.astype(bool), dtype="boolean"), bool),
        (pl.Series(y.astype(bool)), bool),
        (y.astype(bool).tolist(), bool),
        (y.astype(bool).astype(object), bool),
        (y.astype(np.int8), np.int8),
        (y.astype(object), np.int64),
        (words, object),
        (pd.Series(words, dtype="string"), object),
        (pd.Series(words).astype("category"), object),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a frame of one column is not the usual form
            model = entry.make().fit(X, target)
        assert model.classes_.dtype == model.predict(X).dtype == expected
        assert model.classes_.tolist() == (["no", "yes"] if expected is object else [0, 1])


def check_probabilities(scores, *, sum_to_one):
    """Values above 1, be it by 2e-16, make scikit-learn's log loss and Brier score NaN."""
    assert scores.min() >= 0
    assert scores.max() <= 1
    if sum_to_one:
        np.testing.assert_allclose(scores.sum(axis=-1), 1, atol=1e-14)


@entries(lambda entry: entry.task in ("classes", "labels"))
def test_probabilities(entry):
    X, y = entry.samples()
    votes = inspect.signature(entry.kind).parameters.get("vote")
    for changes in ({}, {"n_estimators": 20}) if entry.takes("n_estimators") else ({},):
        for vote in ({"vote": "class"}, {"vote": "probability"}) if votes else ({},):
            model = entry.fit(**changes, **vote)
            probabilities = model.predict_proba(X)
            check_probabilities(probabilities, sum_to_one=entry.task == "classes")
            for stage in getattr(model, "staged_predict_proba", lambda X: ())(X):
                check_probabilities(stage, sum_to_one=entry.task == "classes")
            if entry.task == "classes":
                assert np.isfinite(log_loss(y, probabilities))
                assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X)).mean() > 0.95  # but ties


@entries(predicts)
def test_tools_of_scikit_learn(entry):
    X, y = entry.samples()
    frame = pd.DataFrame(X, columns=[f"feature {f}" for f in range(X.shape[1])])
    folds = KFold(2, shuffle=True, random_state=0)
    steps = make_pipeline(StandardScaler(), entry.make()).set_output(transform="pandas")
    steps.fit(frame, y)
    assert steps[-1].feature_names_in_.tolist() == frame.columns.tolist()
    assert np.isfinite(cross_val_score(entry.make(), frame, y, cv=folds, error_score="raise")).all()
    importances = permutation_importance(steps, frame, y, n_repeats=1, random_state=0).importances_mean
    assert importances.shape == (X.shape[1],)
    if entry.task == "classes":
        calibrated = CalibratedClassifierCV(entry.make(), cv=2).fit(frame, y)
        check_probabilities(calibrated.predict_proba(frame), sum_to_one=True)


@entries(lambda entry: entry.takes("n_estimators") and predicts(entry))
def test_members(entry):
    """The same ones at each access, new ones after another fit, and made again in copies."""
    X, y = entry.samples()
    model = entry.make()
    assert not hasattr(model, "estimators_")
    model.fit(X, y)
    if not hasattr(model, "estimators_"):
        return
    first = model.estimators_[0]
    model.predict(X)
    assert model.estimators_[0] is first
    columns = getattr(model, "estimators_features_", [slice(None)])[0]
    for other in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert other.estimators_[0] is other.estimators_[0]
        np.testing.assert_array_equal(answer(other.estimators_[0], X[:, columns]), answer(first, X[:, columns]))
    assert model.fit(X, y).estimators_[0] is not first


@entries(lambda entry: entry.any_base)
def test_any_base_learner(entry):
    """Its own needs decide what tables can be learned from, and it is left as it was."""
    X, y = entry.samples()
    linear, tree = LogisticRegression(solver="newton-cholesky"), DecisionTreeClassifier(max_depth=3, random_state=0)
    if entry.task == "values":
        linear, tree = Ridge(), DecisionTreeRegressor(max_depth=3, random_state=0)
    expected = answer(entry.make(estimator=linear).fit(X, y), X)
    assert not [name for name in vars(linear) if name.endswith("_")]
    model = entry.make(estimator=linear).fit(sparse.csr_array(X), y)
    close = 0.1 if entry.task == "values" else 1e-5  # Ridge has another solver for sparse tables
    np.testing.assert_allclose(answer(model, sparse.csr_array(X)), expected, atol=close)
    names = [f"feature {f}" for f in range(X.shape[1])]
    encode = make_column_transformer((OneHotEncoder(), ["color"]), remainder=StandardScaler())
    frame = pd.DataFrame(X, columns=names).assign(color=["red", "blue"] * (len(X) // 2) + ["red"] * (len(X) % 2))
    model = entry.make(estimator=make_pipeline(encode, linear)).fit(frame, y)
    assert model.feature_names_in_.tolist() == [*names, "color"]
    assert np.isfinite(answer(model, frame)).all()
    with_gaps = np.where(np.arange(len(X))[:, None] % 9 == 0, np.nan, X)
    for base, takes_gaps in ((tree, True), (linear, False)):
        model = entry.make(estimator=base)
        assert get_tags(model).input_tags.allow_nan == takes_gaps
        if takes_gaps:
            assert np.isfinite(answer(model.fit(with_gaps, y), with_gaps)).all()
        else:
            with pytest.raises(ValueError, match="NaN"):
                model.fit(with_gaps, y)


@entries(predicts)
def test_any_input(entry):
    run_cases(entry, 8)


@pytest.mark.slow
@entries(predicts)
def test_ten_thousand_inputs(entry):
    outcomes = run_cases(entry, -(-10_000 // sum(map(predicts, REGISTRY.values()))))
    assert outcomes["fitted"] > 0.2 * sum(outcomes.values()), "few cases were such that one could learn from them"
