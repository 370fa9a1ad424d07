"""The fused classifier: good members count, bad ones do not, whatever they are."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from fuselearn import BaggedClassifier, ForestClassifier, FusedClassifier
from fuselearn.combine.fused import default_members
from fuselearn.datasets import corrupt_labels
from fuselearn.fusion.trust import count_confident, trust_labels


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def three():
    return [("bayes", GaussianNB()), ("near", KNeighborsClassifier()), ("guess", DummyClassifier())]


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("out of order")


class Unsure(GaussianNB):
    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


def calibrate(probabilities, exponent):
    """Raise probabilities, of which none is less than 0.001 at first, to a power of sum one."""
    powers = (probabilities + 1e-3) ** exponent
    return powers / powers.sum(axis=1, keepdims=True)


def brier(probabilities, y):
    return ((probabilities - np.eye(probabilities.shape[1])[y]) ** 2).sum(axis=1).mean()


def best_exponent(probabilities, y):
    return min(np.geomspace(0.1, 6.0, 25), key=lambda exponent: brier(calibrate(probabilities, exponent), y))


def test_every_step_from_held_out_errors_to_probabilities(wine):
    """Exponents, errors, weights and the weighted sum, from scikit-learn's held-out probabilities."""
    X, y = wine
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    fused = FusedClassifier(three(), tolerance=0.5, cv=folds).fit(X, y)
    held_out = {n: cross_val_predict(m, X, y, cv=folds, method="predict_proba") for n, m in three()}
    exponents = {name: best_exponent(p, y) for name, p in held_out.items()}
    calibrated = {name: calibrate(p, exponents[name]) for name, p in held_out.items()}
    errors = {name: brier(p, y) for name, p in calibrated.items()}
    powers = {name: np.exp(-error / 0.5) for name, error in errors.items()}
    weights = {name: power / sum(powers.values()) for name, power in powers.items()}
    assert [report.name for report in fused.members_] == sorted(errors, key=errors.get)
    for report in fused.members_:
        assert report.exponent == pytest.approx(exponents[report.name])
        assert report.error == pytest.approx(errors[report.name])
        assert report.weight == pytest.approx(weights[report.name])
        assert report.accuracy == pytest.approx((held_out[report.name].argmax(axis=1) == y).mean())
    np.testing.assert_allclose(fused.held_out_proba_, sum(weights[n] * calibrated[n] for n in weights))
    summed = sum(weights[n] * calibrate(clone(m).fit(X, y).predict_proba(X), exponents[n]) for n, m in three())
    # What remains is one exponent for wrong labels, the same for all samples and classes.
    assert 1.0 <= fused._sharpness_ <= 5.0
    np.testing.assert_allclose(fused.predict_proba(X), calibrate(summed, fused._sharpness_))
    np.testing.assert_allclose(fused.estimator_weights_, [weights[n] for n in fused.named_estimators_])


@pytest.fixture(scope="module")
def noisy_wine(wine):
    return wine[0], corrupt_labels(wine[1], 0.3, random_state=0)


def test_the_second_fit_is_weighed_by_the_trust_in_labels(noisy_wine):
    """One member takes sample weights, the other is fitted to the samples with a weight."""
    X, z = noisy_wine
    members = [("bayes", GaussianNB()), ("near", KNeighborsClassifier(15))]
    fused = FusedClassifier(members, tolerance=0.5, random_state=0).fit(X, z)
    joint = count_confident(fused.held_out_proba_, z)
    trust = trust_labels(joint, fused.held_out_proba_, z)
    np.testing.assert_allclose(fused.sample_weights_, trust)
    np.testing.assert_allclose(fused.noise_matrix_, joint.noise_matrix)
    low, high = fused.noise_interval_
    assert low < 0.3 < high
    assert low < fused.noise_rate_ < high
    kept = trust > 0
    again = [
        GaussianNB().fit(X[kept], z[kept], sample_weight=trust[kept]),
        KNeighborsClassifier(15).fit(X[kept], z[kept]),
    ]
    both = [clone(member).fit(X, z) for _, member in members] + again
    assert list(fused.named_estimators_) == ["bayes", "near", "bayes__again", "near__again"]
    first, s = (
        np.exp(-np.array([next(one.error for one in fused.members_ if one.name == name) for name, _ in members]) / 0.5),
        min(joint.contradicted, 0.5),
    )
    first /= first.sum()
    weights = np.concatenate([(1 - s) * first, s * first])
    np.testing.assert_allclose(fused.estimator_weights_, weights)
    exponents = 2 * [next(one.exponent for one in fused.members_ if one.name == name) for name, _ in members]
    summed = sum(w * calibrate(m.predict_proba(X), a) for w, m, a in zip(weights, both, exponents, strict=True))
    np.testing.assert_allclose(fused.predict_proba(X), calibrate(summed, fused._sharpness_))


def test_on_clean_labels_nothing_is_fitted_again(wine):
    fused = FusedClassifier(n_estimators=10, random_state=0).fit(*wine)
    assert not any(name.endswith("__again") for name in fused.named_estimators_)
    assert fused.noise_interval_[1] < 0.05
    assert "doubtful labels; no second fit" in fused.describe()


def test_members_with_little_weight_are_not_fitted_again(noisy_wine):
    fused = FusedClassifier(n_estimators=10, tolerance=0.02, random_state=0).fit(*noisy_wine)
    names, n_first = list(fused.named_estimators_), sum("__" not in name for name in fused.named_estimators_)
    first, second = fused.estimator_weights_[:n_first], fused.estimator_weights_[n_first:]
    s = second.sum()
    assert 0.25 < s <= 0.5
    counting = s * first / first.sum() >= 0.01
    assert names[n_first:] == [f"{name}__again" for name, counts in zip(names, counting, strict=False) if counts]
    assert 0 < len(second) < n_first
    np.testing.assert_allclose(second / s, first[counting] / first[counting].sum())
    assert f"second fit of {len(second)} members" in fused.describe()
    assert f"{(fused.sample_weights_ == 0).sum()} doubtful labels" in fused.describe()


def test_wrong_labels_are_not_trusted_and_the_second_fit_is_better():
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    z = corrupt_labels(y[train], 0.4, random_state=0)
    fused = FusedClassifier(n_estimators=10, random_state=0).fit(X[train], z)
    wrong = z != y[train]
    assert (fused.sample_weights_[wrong] == 0).mean() > 0.75
    assert (fused.sample_weights_[~wrong] > 0).mean() > 0.9
    low, high = fused.noise_interval_
    assert low < 0.4 < high
    n_first = sum("__" not in name for name in fused.named_estimators_)
    alone = fused.named_estimators_
    best = next(name for name in alone if f"{name}__again" in alone)
    assert 0 < n_first < len(alone)
    assert alone[f"{best}__again"].score(X[test], y[test]) > alone[best].score(X[test], y[test])


def test_samples_without_weight_have_no_part_in_the_second_fit(noisy_wine):
    X, z = noisy_wine
    used = np.arange(len(z)) % 5 > 0
    models = [
        FusedClassifier([("bayes", GaussianNB())], cv=KFold(3, shuffle=True, random_state=0)).fit(
            X, labels, sample_weight=used.astype(float)
        )
        for labels in (z, np.where(used, z, 0))
    ]
    np.testing.assert_allclose(*(model.sample_weights_ for model in models))
    np.testing.assert_allclose(*(model.predict_proba(X) for model in models))


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_the_fraction_of_wrong_labels_is_estimated_and_corrected_for(rate):
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    members = [("near", KNeighborsClassifier(15)), ("bayes", GaussianNB())]
    fused = FusedClassifier(members, random_state=0).fit(X[train], corrupt_labels(y[train], rate, random_state=0))
    assert fused.noise_rate_ == pytest.approx(rate, abs=0.03)
    assert f"about {fused.noise_rate_:.1%} of the labels seem to be wrong" in fused.describe()
    as_noisy = calibrate(fused.predict_proba(X[test]), 1 / fused._sharpness_)
    gain = brier(as_noisy, y[test]) - brier(fused.predict_proba(X[test]), y[test])
    assert gain > (0.05 if rate == 0.3 else 0.0) if rate else abs(gain) < 0.005


def test_members_that_are_much_worse_get_nothing_and_are_not_fitted_to_all_samples(wine):
    fused = FusedClassifier(three(), random_state=0).fit(*wine)
    assert list(fused.named_estimators_) == ["bayes"]
    assert [report.name for report in fused.members_] == ["bayes", "near", "guess"]
    assert [report.weight for report in fused.members_] == [1.0, 0.0, 0.0]


def test_a_member_without_probabilities_counts_with_its_votes(wine):
    X, y = wine
    fused = FusedClassifier([("ridge", RidgeClassifier())], random_state=0).fit(X, y)
    assert fused.score(X, y) > 0.95
    assert len(np.unique(fused.predict_proba(X).round(12))) == 2


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (Broken(), r"Members 'bad': excluded, since it cannot be fitted \(out of order\)."),
        (Unsure(), r"Members 'bad': excluded, since it cannot be fitted \(its probabilities are not finite\)."),
    ],
)
def test_a_member_that_fails_is_left_out_with_a_warning(wine, bad, sentence):
    with pytest.warns(UserWarning, match=sentence):
        fused = FusedClassifier([("bayes", GaussianNB()), ("bad", bad)], random_state=0).fit(*wine)
    assert [report.name for report in fused.members_] == ["bayes"]
    assert list(fused.notes_) == ["bad"]
    assert "bad     excluded, since it cannot be fitted" in fused.describe()


def test_if_all_members_fail_so_does_the_fit(wine):
    fused = FusedClassifier([("bad", Broken())])
    with pytest.raises(RuntimeError, match="out of order"):
        fused.fit(*wine)
    assert not hasattr(fused, "classes_")


def test_several_labels_are_referred_to_the_multilabel_package(wine):
    X, y = wine
    with pytest.raises(ValueError, match="use FusedMultilabelClassifier"):
        FusedClassifier().fit(X, np.eye(3, dtype=int)[y])


def test_weights_of_zero_are_as_samples_that_are_not_there_for_the_errors(wine):
    X, y = wine
    wrong = np.where(np.arange(len(y)) % 4 == 0, (y + 1) % 3, y)
    counts = (wrong == y).astype(float)
    fused = FusedClassifier([("bayes", GaussianNB())], random_state=0).fit(X, wrong, sample_weight=counts)
    assert fused.members_[0].accuracy > 0.95


def test_groups_are_kept_together(wine):
    X, y = wine
    groups = np.arange(len(y)) // 6
    fused = FusedClassifier([("bayes", GaussianNB())], cv=GroupKFold(3)).fit(X, y, groups=groups)
    expected = cross_val_predict(GaussianNB(), X, y, groups=groups, cv=GroupKFold(3), method="predict_proba")
    np.testing.assert_allclose(fused.held_out_proba_, calibrate(expected, fused.members_[0].exponent))


@pytest.fixture(scope="module")
def twins():
    """Return 100 random samples, each four times, with random labels: nothing can be learned from others."""
    rng = np.random.default_rng(0)
    return np.repeat(rng.normal(size=(100, 3)), 4, axis=0), np.repeat(rng.integers(2, size=100), 4), np.arange(400) // 4


@pytest.mark.parametrize("cv", [None, 3])
def test_groups_without_a_splitter_are_kept_together_as_well(twins, cv):
    X, y, groups = twins
    members = [("near", KNeighborsClassifier(1)), ("forest", ForestClassifier(20, random_state=0))]
    fused = FusedClassifier(members, cv=cv, random_state=0)
    known, fair = clone(fused).fit(X, y), clone(fused).fit(X, y, groups=groups)
    assert min(report.accuracy for report in known.members_) > 0.9
    assert max(report.accuracy for report in fair.members_) < 0.65
    np.testing.assert_array_equal(fused.hold_out(X, y, groups=groups), fair.held_out_proba_)


def test_forests_and_bagging_are_measured_out_of_bag_and_trained_once(wine):
    X, y = wine
    trained = []
    members = [
        ("bagging", BaggedClassifier(n_estimators=40, random_state=0)),
        ("forest", ForestClassifier(40, random_state=1, callback=lambda number, tree: trained.append(number))),
    ]
    fused = FusedClassifier(members, tolerance=0.5).fit(X, y)
    assert trained == list(range(1, 41))
    expected = 0.0
    for (name, member), weight in zip(members, fused.estimator_weights_, strict=True):
        alone = clone(member).set_params(oob_score=True).fit(X, y)
        np.testing.assert_array_equal(fused.named_estimators_[name].predict_proba(X), alone.predict_proba(X))
        exponent = next(report.exponent for report in fused.members_ if report.name == name)
        expected = expected + weight * calibrate(alone.oob_decision_function_, exponent)
    np.testing.assert_allclose(fused.held_out_proba_, expected)


def test_out_of_bag_probabilities_are_left_to_folds_if_any_is_missing(wine):
    """Two trees have both seen every second sample or so."""
    fused = FusedClassifier([("forest", ForestClassifier(2, random_state=0))], random_state=0)
    by_folds = clone(fused).set_params(cv=4).fit(*wine)
    np.testing.assert_array_equal(fused.fit(*wine).held_out_proba_, by_folds.held_out_proba_)


def test_categories_missing_values_and_text_labels_need_no_preparation():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame = frame.assign(kind=pd.Categorical(np.array(["a", "b", "c"])[(y + 1) % 3]))
    frame.iloc[::10, 0] = np.nan
    labels = np.array(["s", "ve", "vi"], dtype=object)[y]
    with pytest.warns(UserWarning, match="Members 'svm', 'svm_linear': missing values imputed") as warned:
        fused = FusedClassifier(n_estimators=5, random_state=0).fit(frame, labels)
    assert warned[0].filename == __file__, "the warning is about the call of fit"
    assert "svm" in fused.named_estimators_
    assert fused.score(frame, labels) > 0.95


def test_one_missing_value_keeps_the_svms_and_is_said(wine):
    X, y = wine
    whole = FusedClassifier(n_estimators=10, random_state=0).fit(X, y)
    assert "imputed" not in whole.describe()
    gap = X.copy()
    gap[17, 3] = np.nan
    with pytest.warns(UserWarning, match="Members 'svm', 'svm_linear': missing values imputed"):
        fused = FusedClassifier(n_estimators=10, random_state=0).fit(gap, y)
    assert {report.name for report in fused.members_} == {report.name for report in whole.members_}
    assert (fused.predict(X) == whole.predict(X)).mean() > 0.98
    notes = [line.split("  ")[-1] for line in fused.describe().splitlines() if line.startswith("svm")]
    assert notes == ["missing values imputed"] * 2
    machine = fused.named_estimators_["svm"]
    filled, marked = gap.copy(), gap.copy()
    filled[17, 3] = np.nanmedian(gap[:, 3])
    marked[0], marked[1] = gap[17], filled[17]
    np.testing.assert_array_equal(machine.predict_proba(filled[:17]), machine.predict_proba(gap[:17]))
    assert (machine.predict_proba(marked[:1]) != machine.predict_proba(marked[1:2])).any()  # by the indicator


def test_a_value_that_is_missing_in_new_samples_only_gets_a_prediction(wine):
    X, y = wine
    fused = FusedClassifier(n_estimators=10, random_state=0).fit(X, y)
    gap, medians = X.copy(), X.copy()
    gap[::7, 2], medians[::7, 2] = np.nan, np.median(X[:, 2])
    assert np.isfinite(fused.predict_proba(gap)).all()
    machine = fused.named_estimators_["svm"]
    np.testing.assert_array_equal(machine.predict_proba(gap), machine.predict_proba(medians))


def test_medians_are_learned_inside_the_fold(wine):
    seen = []

    class Noting(GaussianNB):
        def fit(self, X, y):
            seen.append(X[:, 0].copy())
            return super().fit(X, y)

    X, y = wine
    X = X.copy()
    X[::5, 0] = np.nan
    with pytest.warns(UserWarning, match="Members 'bayes': missing values imputed"):
        FusedClassifier([("bayes", Noting())], cv=KFold(2, shuffle=True, random_state=0)).fit(X, y)
    halves = [X[inside] for inside, _ in KFold(2, shuffle=True, random_state=0).split(X)]
    filled = seen[-3:]
    for column, own in zip(filled, [*halves, X], strict=True):
        np.testing.assert_array_equal(column, np.where(np.isnan(own[:, 0]), np.nanmedian(own[:, 0]), own[:, 0]))


def test_svms_learn_from_a_sample_of_a_large_table_and_say_so(wine, monkeypatch):
    monkeypatch.setattr("fuselearn.combine.fused.MOST_SVM_SAMPLES", 60)
    X, y = wine
    with pytest.warns(UserWarning, match="Members 'svm', 'svm_linear': trained on 60 of 178 samples"):
        fused = FusedClassifier(n_estimators=10, random_state=0).fit(X, y)
    assert "trained on 60 of 178 samples" in fused.describe()
    assert fused.named_estimators_["svm"].score(X, y) > 0.95


def test_the_sample_of_a_large_table_is_not_one_of_its_folds(wine, monkeypatch):
    monkeypatch.setattr("fuselearn.combine.fused.MOST_SVM_SAMPLES", 60)
    X, y = (part[10:130] for part in wine)  # twice the sample, of which two folds hold out half
    with pytest.warns(UserWarning, match="trained on 60 of 120 samples"):
        fused = FusedClassifier(n_estimators=2, cv=2, random_state=0).fit(X, y)
    assert "left out" not in str(fused.notes_)
    assert len(fused.members_) == 10


@pytest.mark.parametrize("n_samples", [3, 5])
def test_very_few_samples_are_enough(n_samples, wine):
    X, y = wine
    chosen = np.linspace(0, len(y) - 1, n_samples).astype(int)
    fused = FusedClassifier(n_estimators=2, random_state=0).fit(X[chosen], y[chosen])
    assert np.isfinite(fused.predict_proba(X)).all()


def test_a_class_with_one_sample_is_never_held_out_from_the_only_other_one(wine):
    X, y = wine
    target = np.zeros(20, dtype=int)
    target[7] = 1
    fused = FusedClassifier([("bayes", GaussianNB())], random_state=0).fit(X[:20], target)
    assert np.isnan(fused.held_out_proba_[7]).all()
    assert fused.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="no fold has two classes in its training samples"):
        FusedClassifier().fit(X[[0, -1]], y[[0, -1]])


@pytest.mark.parametrize(("n_samples", "n_fits"), [(4_999, 5), (5_000, 3)])
def test_members_of_large_tables_are_measured_on_two_folds(n_samples, n_fits):
    sizes = []

    class Noting(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            sizes.append(len(y))
            return super().fit(X, y, sample_weight)

    X = np.random.default_rng(0).normal(size=(n_samples, 2))
    FusedClassifier([("bayes", Noting())], random_state=0).fit(X, X[:, 0] > 0)
    assert len(sizes) == n_fits
    assert sum(sizes[:-1]) == (n_fits - 2) * n_samples


def test_the_table_and_the_figure_name_every_member(wine):
    fused = FusedClassifier(three(), tolerance=0.1, random_state=0).fit(*wine)
    lines = fused.describe().splitlines()
    assert lines[0].split() == ["member", "weight", "squared", "error", "accuracy", "seconds"]
    assert [line.split()[0] for line in lines[1:4]] == ["bayes", "near", "guess"]
    weights, errors = fused.plot_members().axes
    assert [label.get_text() for label in weights.get_yticklabels()] == ["bayes", "near", "guess"]
    assert [bar.get_width() for bar in weights.patches] == [report.weight for report in fused.members_]
    assert errors.lines[0].get_xdata().tolist() == [report.error for report in fused.members_]


def test_where_labels_are_wrong_a_robust_member_counts_more_than_one_that_learns_them_by_heart():
    X, y = load_iris(return_X_y=True)
    noisy = corrupt_labels(y, 0.3, random_state=0)
    members = [("by_heart", DecisionTreeClassifier(random_state=0)), ("line", LogisticRegression(max_iter=1000))]
    fused = FusedClassifier(members, random_state=0).fit(X, noisy)
    assert [name.removesuffix("__again") for name in fused.named_estimators_] == ["line", "line"]
    assert fused.score(X, y) > members[0][1].fit(X, noisy).score(X, y) + 0.05


def test_held_out_probabilities_without_a_fit():
    X, y = load_wine(return_X_y=True)
    model = FusedClassifier(n_estimators=3, random_state=0)
    expected = clone(model).fit(X, y).held_out_proba_
    np.testing.assert_array_equal(model.hold_out(X, y), expected)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_sparse_tables_give_the_model_of_dense_ones():
    """Of the members, support vector machines center dense tables only, which changes the last digits."""
    X, y = load_wine(return_X_y=True)
    X = np.where(X.mean(axis=0) < X, X, 0.0)
    dense, thin = (
        FusedClassifier(n_estimators=3, cv=2, random_state=0).fit(table, y) for table in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(thin.predict(X), dense.predict(X))


def test_a_line_is_printed_after_each_measurement(wine, capsys):
    FusedClassifier(three(), verbose=1, random_state=0).fit(*wine)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[FusedClassifier] Measuring 3 members on 178 samples, out of bag or by 4 folds."
    assert [line.split(";")[0] for line in lines[1:]] == [
        f"[FusedClassifier] {number} of 3 members measured" for number in (1, 2, 3)
    ]
    with pytest.raises(ValueError, match="verbose must be at least 0"):
        FusedClassifier(three(), verbose=-1).fit(*wine)


def test_the_default_members_are_of_the_size_and_of_the_seed_asked_for(wine):
    members = {member.name: member.estimator for member in default_members(7, 3)}
    assert {member.random_state for member in members.values()} == {3}
    assert {member.n_estimators for name, member in members.items() if "svm" not in name} == {7}
