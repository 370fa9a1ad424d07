"""The fused multi-label classifier: what its members score out of bag, how they are fused, and which rule follows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags

from fuselearn import SVMClassifier, load, save
from fuselearn.datasets import make_digit_pairs
from fuselearn.multilabel import (
    BinaryRelevanceClassifier,
    EnsembleHOMERClassifier,
    FusedMultilabelClassifier,
    KFHEHOMERClassifier,
    PCTForestClassifier,
    ThresholdedClassifier,
)
from fuselearn.multilabel.decisions import (
    CardinalityThreshold,
    ExpectedF1,
    MacroF1Thresholds,
    MicroF1Threshold,
)
from fuselearn.multilabel.decisions.base import FixedThreshold
from fuselearn.multilabel.methods import fused
from fuselearn.multilabel.methods.log_odds import fit_log_odds
from fuselearn.multilabel.methods.set_mixture import SetMixture

DEFAULT = ["e-homer", "kfhe-homer", "forest", "extra-trees"]
RULES = {
    "macro_f1": MacroF1Thresholds,
    "micro_f1": MicroF1Threshold,
    "example_f1": ExpectedF1,
    "hamming": FixedThreshold,
    "subset": SetMixture,
    "ranking": CardinalityThreshold,
}


def forests(n_trees=20):
    return [("a", PCTForestClassifier(n_trees, random_state=1)), ("b", PCTForestClassifier(n_trees, max_depth=2))]


@pytest.fixture(scope="module")
def pairs():
    X, Y = make_digit_pairs(300, "overlaid", random_state=0)
    return X.to_numpy(), Y.to_numpy()


@pytest.fixture(scope="module")
def model(pairs):
    X, Y = pairs
    return FusedMultilabelClassifier(n_estimators=6, random_state=0).fit(X[:200], Y[:200])


class TestFusion:
    def test_the_out_of_bag_scores_of_the_members_are_fused(self, labelled):
        X, Y = labelled
        model = FusedMultilabelClassifier(forests(), random_state=0).fit(X, Y)
        held_out = np.stack([member.oob_decision_function_ for member in model.estimators_])
        fusion = fit_log_odds(held_out, Y.astype(np.int8), np.ones(80))
        np.testing.assert_allclose(model.estimator_weights_, fusion.weights)
        np.testing.assert_allclose(model.held_out_proba_, fusion.fuse(held_out))
        answers = np.stack([member.predict_proba(X) for member in model.estimators_])
        np.testing.assert_allclose(model.predict_proba(X), fusion.fuse(answers))
        np.testing.assert_allclose(model.errors_, ((held_out - Y) ** 2).mean(axis=1))

    def test_members_without_out_of_bag_scores_are_scored_on_folds(self, labelled):
        X, Y = labelled
        relevance = BinaryRelevanceClassifier(GaussianNB(), random_state=3)
        model = FusedMultilabelClassifier([("bayes", relevance)]).fit(X, Y)
        [member] = model.estimators_
        scores = member._hold_out(member._bind_again(X, Y.astype(np.int8), None), member._fold_seed_)
        np.testing.assert_allclose(model.errors_[0], ((scores - Y) ** 2).mean(axis=0))

    @pytest.mark.parametrize(
        "member",
        [
            MultiOutputClassifier(LogisticRegression()),
            RandomForestClassifier(10, random_state=0),
            ThresholdedClassifier(RandomForestClassifier(30, random_state=0), cv="oob"),
        ],
        ids=["one per label", "forest", "out of bag"],
    )
    def test_classifiers_of_scikit_learn_are_members(self, labelled, member):
        X, Y = labelled
        model = FusedMultilabelClassifier([("theirs", member), ("ours", PCTForestClassifier(5))], random_state=0)
        assert model.fit(X, Y).predict_proba(X).shape == Y.shape
        assert np.isfinite(model.errors_).all()

    def test_a_useless_member_has_no_weight(self, labelled):
        class Noise(PCTForestClassifier):
            def _held_out_scores(self, Y, pose):
                return np.random.default_rng(0).random(Y.shape)

        model = FusedMultilabelClassifier([*forests(), ("noise", Noise())], random_state=0).fit(*labelled)
        assert model.estimator_weights_[2].mean() < 0.1 < model.estimator_weights_[:2].sum(axis=0).min()

    def test_samples_that_one_member_has_always_seen_count(self, labelled):
        """Of three HOMERs on twice as many draws as samples, a third of the samples is left out by none."""
        X, Y = labelled
        members = [("homer", EnsembleHOMERClassifier("tree", 3)), ("forest", PCTForestClassifier(30))]
        model = FusedMultilabelClassifier(members, random_state=0)
        model.fit(X, Y)
        homer = model.estimators_[0]
        gaps = np.isnan(homer.oob_decision_function_).any(axis=1)
        assert gaps.any()
        assert not np.isnan(model.held_out_proba_).any()

    def test_members_keep_their_own_decision(self, model):
        assert [member.decision for member in model.estimators_] == ["path", "path", 0.5, 0.5]

    def test_members_learn_the_thresholds_that_they_would_learn_alone(self, labelled):
        X, Y = labelled
        forest = PCTForestClassifier(20, decision="cardinality", random_state=0)
        model = FusedMultilabelClassifier([("forest", forest)]).fit(X, Y)
        assert model.estimators_[0].rule_.threshold_ == forest.fit(X, Y).rule_.threshold_

    def test_it_is_better_than_its_members_where_they_differ(self, pairs, model):
        X, Y = pairs
        errors = [((member.predict_proba(X[200:]) - Y[200:]) ** 2).mean() for member in model.estimators_]
        assert ((model.predict_proba(X[200:]) - Y[200:]) ** 2).mean() < min(errors)


class TestRules:
    @pytest.mark.parametrize("optimize", RULES)
    def test_what_matters_decides_on_the_rule(self, pairs, optimize, labelled):
        X, Y = labelled
        model = FusedMultilabelClassifier(forests(), optimize=optimize, random_state=0).fit(X, Y)
        assert type(model.rule_) is RULES[optimize]
        if optimize == "subset":
            return  # it is fitted to the samples, too
        settings = {"macro_f1": {"noise_rate": "auto"}, "example_f1": {"empty": 0.0}}
        expected = RULES[optimize](**settings.get(optimize, {})).fit(model.held_out_proba_, Y)
        np.testing.assert_array_equal(model.predict(X), expected(model.predict_proba(X)))

    @pytest.mark.parametrize("optimize", RULES)
    def test_a_fitted_model_can_change_its_mind(self, labelled, optimize):
        X, Y = labelled
        first = FusedMultilabelClassifier(forests(), random_state=0).fit(X, Y)
        changed = first.with_optimize(optimize, X, Y)
        afresh = FusedMultilabelClassifier(forests(), optimize=optimize, random_state=0).fit(X, Y)
        assert changed.optimize == optimize
        assert first.optimize == "macro_f1"
        np.testing.assert_array_equal(changed.predict(X), afresh.predict(X))

    @pytest.mark.parametrize("optimize", RULES)
    def test_the_score_is_what_it_optimizes(self, labelled, optimize):
        X, Y = labelled
        new, truth = X[1::2], Y[1::2]
        model = FusedMultilabelClassifier(forests(), optimize=optimize, random_state=0).fit(X[::2], Y[::2])
        labels = model.predict(new)
        right = labels == truth
        expected = {
            "macro_f1": np.mean([f1_score(a, b) for a, b in zip(truth.T, labels.T, strict=True)]),
            "micro_f1": 2 * (labels & truth).sum() / (labels.sum() + truth.sum()),
            "example_f1": np.mean([f1_score(a, b, zero_division=0) for a, b in zip(truth, labels, strict=True)]),
            "hamming": right.mean(),
            "subset": right.all(axis=1).mean(),
            "ranking": label_ranking_average_precision_score(truth, model.predict_proba(new)),
        }
        assert model.score(new, truth) == pytest.approx(expected[optimize])
        weights = np.arange(len(new)) % 2
        assert model.score(new, truth, weights) == pytest.approx(model.score(new[1::2], truth[1::2]))
        single = FusedMultilabelClassifier(forests(), optimize=optimize, random_state=0).fit(X[::2], Y[::2, :1])
        found, one = single.predict(new), truth[:, :1]
        alone = {"hamming": (found == one).mean(), "subset": (found == one).mean(), "ranking": 1.0}
        alone["example_f1"] = (found & one).mean()
        assert single.score(new, one) == pytest.approx(alone.get(optimize, f1_score(one, found)))

    def test_a_rule_of_ones_own(self, labelled):
        X, Y = labelled
        model = FusedMultilabelClassifier(forests(), decision=0.3, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > 0.3)
        assert type(model.with_decision(None, X, Y).rule_) is MacroF1Thresholds


class TestMembers:
    def test_by_default(self, model):
        assert list(model.named_estimators_) == DEFAULT
        assert model.notes_ == {}
        assert [type(member) for member in model.estimators_] == [
            EnsembleHOMERClassifier,
            KFHEHOMERClassifier,
            PCTForestClassifier,
            PCTForestClassifier,
        ]
        assert [member.n_estimators for member in model.estimators_] == [6, 6, 24, 24]
        assert model.estimator_weights_.shape == model.errors_.shape == (4, 10)

    def test_a_table_is_bound_once_for_members_of_a_kind(self, labelled, monkeypatch):
        bound = []
        for kind, name in ((SVMClassifier, "_bind_table"), (PCTForestClassifier, "_make_learner")):
            bind = getattr(kind, name)
            monkeypatch.setattr(kind, name, lambda *args, bind=bind: bound.append(type(args[0])) or bind(*args))
        FusedMultilabelClassifier(n_estimators=2, random_state=0).fit(*labelled)
        assert bound == [SVMClassifier, PCTForestClassifier]

    def test_the_table_of_members(self, model):
        head, *lines = model.describe().splitlines()
        assert head.split() == ["member", "weight", "squared", "error", "seconds"]
        assert [line.split()[0] for line in lines[:4]] == DEFAULT
        assert [float(line.split()[1]) for line in lines[:4]] == pytest.approx(
            model.estimator_weights_.mean(axis=1), abs=1e-3
        )
        assert len(model.plot_members().axes) == 2

    def test_svms_take_missing_values(self, labelled):
        X, Y = labelled
        frame = pd.DataFrame(X, columns=list("abcde"))
        frame["colour"] = pd.Categorical(np.where(X[:, 0] > 0, "red", "blue"))
        complete = FusedMultilabelClassifier(n_estimators=5, random_state=0).fit(frame, Y)
        assert complete.notes_ == {}
        new = frame.iloc[:3].copy()
        new.loc[0, "b"] = np.nan
        at_the_median = new.fillna({"b": frame["b"].median()})
        svms = complete.named_estimators_["e-homer"]
        np.testing.assert_allclose(svms.predict_proba(new), svms.predict_proba(at_the_median))
        frame.loc[::7, "b"] = np.nan
        with pytest.warns(UserWarning, match="Members 'e-homer', 'kfhe-homer': missing values imputed") as warned:
            model = FusedMultilabelClassifier(n_estimators=5, random_state=0).fit(frame, Y)
        assert warned[0].filename == __file__, "the warning is about the call of fit"
        assert list(model.named_estimators_) == DEFAULT
        assert list(model.notes_) == ["e-homer", "kfhe-homer"]
        assert [line.endswith("  missing values imputed") for line in model.describe().splitlines()[1:5]] == [
            True,
            True,
            False,
            False,
        ]
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
        assert model.predict(frame).shape == Y.shape

    def test_svms_are_trained_on_a_part_of_many_samples(self, labelled, monkeypatch):
        X, Y = labelled
        monkeypatch.setattr(fused, "MOST_SVM_SAMPLES", 80)
        X, Y = np.vstack([X, X]), np.vstack([Y, Y])
        weights = np.repeat([1.0, 2.0], 80)
        with pytest.warns(UserWarning, match="trained on 80 of 160 samples"):
            model = FusedMultilabelClassifier(n_estimators=3, random_state=0).fit(X, Y, weights)
        assert [len(member.oob_decision_function_) for member in model.estimators_] == [80, 80, 160, 160]
        assert np.isnan(model.held_out_proba_).any(axis=1).sum() >= 80
        assert model.describe().count("  trained on 80 of 160 samples") == 2
        assert model.predict_proba(X).shape == Y.shape
        weights[:80] = 0.0
        assert FusedMultilabelClassifier(n_estimators=3, random_state=0).fit(X, Y, weights).notes_ == {}

    def test_kernel_matrices_are_released_before_forests_are_grown(self, labelled):
        X, Y = labelled
        bound = []

        def note(number, member):
            table = member._coder_.table if number <= 2 else members[0]._coder_.table
            members.append(member)
            bound.append(table._bound is not None)

        members = []
        FusedMultilabelClassifier(n_estimators=2, callback=note, random_state=0).fit(X, Y)
        assert bound == [True, False, False, False]

    def test_a_filter_that_stops_before_any_sample_was_left_out(self):
        X = np.repeat([[-3.0], [3.0]], 5, axis=0) + np.linspace(0, 0.1, 10)[:, None]
        Y = np.repeat([[1, 0], [0, 1]], 5, axis=0)
        members = [("homers", KFHEHOMERClassifier(max_samples=10.0))]
        model = FusedMultilabelClassifier(members, random_state=0).fit(X, Y)
        assert model.estimators_[0].n_iter_ < 3
        assert np.isnan(model.estimators_[0].oob_decision_function_).all()
        np.testing.assert_array_equal(model.predict(X), Y)

    def test_labels_that_nobody_or_everybody_has(self, labelled):
        X, Y = labelled
        Y = np.column_stack([Y, np.zeros(80), np.ones(80)]).astype(int)
        model = FusedMultilabelClassifier(n_estimators=5, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(model.predict_proba(X)[:, 4:], np.tile([0.0, 1.0], (80, 1)))
        for optimize in RULES:
            labels = model.with_optimize(optimize, X, Y).predict(X)
            assert not labels[:, 4].any()
            assert labels[:, 5].all()

    def test_given_seeds_are_kept_and_others_follow_from_the_seed(self, labelled):
        one, two = (FusedMultilabelClassifier(forests(), random_state=s).fit(*labelled).estimators_ for s in (0, 1))
        assert one[0].random_state == two[0].random_state == 1
        assert one[1].random_state != two[1].random_state

    def test_members_that_are_passed_are_not_fitted(self, labelled):
        members = forests()
        FusedMultilabelClassifier(members, random_state=0).fit(*labelled)
        assert not hasattr(members[0][1], "labels_")
        assert members[1][1].random_state is None

    def test_machines_as_members_refuse_missing_values(self, labelled):
        X, Y = labelled
        X = X.copy()
        X[0, 0] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            FusedMultilabelClassifier([("machines", BinaryRelevanceClassifier(SVMClassifier()))]).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_estimators": 0}, "n_estimators must be at least 1"),
        ({"estimators": []}, r"estimators must be a list of \(name, classifier\), not \[\]"),
        ({"estimators": {"a": PCTForestClassifier()}}, "estimators must be a list of"),
        ({"estimators": [PCTForestClassifier()]}, "but one is PCTForestClassifier"),
        ({"estimators": 2 * [("a", PCTForestClassifier())]}, "different names, but two are named 'a'"),
        ({"estimators": [("a", "forest")]}, r"estimators\['a'\] must be a classifier with predict_proba, not 'forest'"),
    ],
)
def test_bad_parameters_get_a_sentence(labelled, parameters, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        FusedMultilabelClassifier(**parameters).fit(*labelled)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (None, (True, True)),
        (forests(), (True, True)),
        ([*forests(), ("machines", BinaryRelevanceClassifier(SVMClassifier()))], (False, True)),
        ([PCTForestClassifier()], (True, True)),
    ],
    ids=["default", "forests", "machines", "refused by fit"],
)
def test_it_takes_what_all_members_take(members, expected):
    tags = get_tags(FusedMultilabelClassifier(members)).input_tags
    assert (tags.allow_nan, tags.sparse) == expected


def test_it_comes_back_from_a_file(pairs, model, tmp_path):
    X, _ = pairs
    save(model, tmp_path / "model.fuse")
    loaded = load(tmp_path / "model.fuse")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert list(loaded.named_estimators_) == list(model.named_estimators_)


def test_one_sample_gets_a_sentence(labelled):
    X, Y = labelled
    with pytest.raises(ValueError, match="one sample is not enough"):
        FusedMultilabelClassifier(forests()).fit(X[:1], Y[:1])
