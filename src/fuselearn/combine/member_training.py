"""Train the members of a fused classifier, and compute their held-out probabilities."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from fuselearn import ensembles
from fuselearn._compat import take_rows
from fuselearn._parameters import make_generator
from fuselearn.base import ClassifierBase, clip_probabilities
from fuselearn.combine.classes import Classes
from fuselearn.combine.ensemble import TrainingData
from fuselearn.combine.members import FittedMember, Member, fit_member, predict_outside, requested_weights
from fuselearn.fusion import Problem, Trained
from fuselearn.fusion.held_out import Splits, average_held_out, held_out_samples, hold_out, restrict_problem
from fuselearn.fusion.members import SharedLearners, note_preparations
from fuselearn.learners import bind, class_target
from fuselearn.learners.learner import Indices, Scores, Weights
from fuselearn.learners.table import has_missing


class MemberTraining:
    """Train members on all or some samples: ensembles of this library on shared learners, others as clones.

    Parameters
    ----------
    data : TrainingData
    classes : Classes
    """

    def __init__(self, data: TrainingData, classes: Classes) -> None:
        self.data, self.classes = data, classes
        self.class_indices = classes.encode(data.target).astype(np.int32)
        self.learners = SharedLearners(data.X.shape[0])
        self.samples: Indices = np.arange(len(self.class_indices))
        self.part: MemberTraining | None = None

    def draw_part(self, samples: Indices) -> None:
        """Restrict the training of SVMs to some samples, in a separate table."""
        X, target = take_rows(self.data.X, samples), self.data.target[samples]
        self.part = MemberTraining(self.data._replace(X=X, target=target), self.classes)
        self.part.samples = samples

    def _choose_part(self, member: Member) -> MemberTraining:
        """Return the training for a member: on all samples or, for SVMs, on some."""
        if self.part is None or not (isinstance(member.estimator, ensembles.SVMClassifier) and _shares_table(member)):
            return self
        return self.part

    def note(self, member: Member) -> str:
        """Describe the preprocessing for a member."""
        imputes = getattr(member.estimator, "impute", False) and has_missing(self.data.X)
        return note_preparations(imputes, len(self._choose_part(member).samples), len(self.samples))

    def hold_out(
        self, member: Member, splits: Splits, *, out_of_bag: bool = False
    ) -> tuple[Scores, FittedMember | None]:
        """Return the held-out probabilities of a member, NaN for samples that are never held out.

        For bagged ensembles they may be out-of-bag probabilities; then the ensemble fitted to all samples is returned,
        too.
        """
        n_samples = len(self.class_indices)
        if not _shares_table(member):
            X, y = self.data.X, self.data.target
            parts = [predict_outside(member, X, y, self.output, *split) for split in splits]
            return average_held_out(parts, splits, n_samples), None
        part = self._choose_part(member)
        if part is not self:
            parts = []
            for inside, outside in splits:
                fitted, _ = part._fit_bound(member, inside=np.flatnonzero(np.isin(part.samples, inside)))
                parts.append(self.output(fitted.model, take_rows(self.data.X, outside)))
            return average_held_out(parts, splits, n_samples), None
        model, problem = self._pose(member)
        if out_of_bag and model._leaves_out:
            fitted, trained = self._fit_bound(member, out_of_bag=True)
            assert trained.out_of_bag is not None, "the problem requires out-of-bag scores"
            scores = trained.out_of_bag.mean()
            if not np.isnan(scores).any():  # with few models, a sample may be in all bags
                return clip_probabilities(scores), fitted
        sums = hold_out(model._train, problem, splits, lambda: make_generator(model.random_state))
        parts = [clip_probabilities(model._to_probabilities(part)) for part in sums]
        return average_held_out(parts, splits, n_samples), None

    def fit(self, measured: Measured) -> FittedMember:
        """Fit a member to all samples, unless it was fitted for its out-of-bag probabilities."""
        if measured.fitted is not None:
            return measured.fitted
        if not _shares_table(measured.member):
            return fit_member(measured.member, self.data.X, self.data.target)
        return self._choose_part(measured.member)._fit_bound(measured.member)[0]

    def fit_again(self, measured: Measured, sample_weights: Weights) -> FittedMember:
        """Fit a member to the samples with a positive weight."""
        member = measured.member
        if _shares_table(member):
            part = self._choose_part(member)
            member = weigh_samples(member, "sample_weight", sample_weights)
            fitted, _ = part._fit_bound(member, inside=np.flatnonzero(sample_weights[part.samples]))
        else:
            member = weigh_samples(member, requested_weights(member.estimator), sample_weights)
            fitted = fit_member(member, self.data.X, self.data.target, np.flatnonzero(sample_weights))
        # Names given by users must not contain two consecutive underscores.
        return fitted._replace(name=f"{member.name}__again", is_refit=True)

    def release(self) -> None:
        """Release data that are only needed for training."""
        self.learners.release()
        if self.part is not None:
            self.part.release()

    def _fit_bound(
        self, member: Member, *, inside: Indices | None = None, out_of_bag: bool = False
    ) -> tuple[FittedMember, Trained]:
        model, problem = self._pose(member)
        if inside is not None:
            problem = restrict_problem(problem, inside, problem.rng)
        model._coder_, model._n_rows_ = problem.learner.coder, problem.n_samples
        problem = model._pose(problem)
        trained = model._train(replace(problem, out_of_bag=True) if out_of_bag else problem)
        model._keep(trained, problem)
        return FittedMember(member.name, model, None), trained

    def _pose(self, member: Member) -> tuple[Any, Problem]:
        """Return a clone of a member and its training problem, with a learner that members may share."""
        model = clone(member.estimator)
        model._check_parameters()
        X = model._check_table(self.data.X, reset=True)
        base = model._base_estimator()
        learner = self.learners.get(base, lambda: bind(base, self.data.X))
        model.classes_ = self.classes.values
        weights = (member.passed or {}).get("sample_weight")
        weights = model._read_weights(None if weights is None else weights[self.samples], self.class_indices)
        target = class_target(self.class_indices, len(model.classes_), model.classes_)
        return model, Problem(learner, target, weights, make_generator(model.random_state), X)

    def output(self, model: Any, X: Any) -> Scores:
        """Return the probabilities of a model or, if it has none, its one-hot predictions."""
        return output_of_classifier(model, X, self.classes)


def _shares_table(member: Member) -> bool:
    """Return whether a member is trained on a shared table."""
    model = member.estimator
    return (
        isinstance(model, ClassifierBase)
        and model._shares_table
        and member.columns is None
        and hasattr(model._base_estimator(), "_bind_table")
        and not set(member.passed or {}) - {"sample_weight"}
    )


def output_of_classifier(model: Any, X: Any, classes: Classes) -> Scores:
    """Return the probabilities of a model or, if it has none, its one-hot predictions."""
    return classes.probabilities(model, X) if hasattr(model, "predict_proba") else classes.votes(model, X)


class Measured(NamedTuple):
    """The held-out probabilities of a member, and the time to compute them."""

    member: Member
    scores: Scores
    seconds: float
    fitted: FittedMember | None
    """The member fitted to all samples, if its probabilities are out of bag."""
    note: str
    """Description of the preprocessing."""


def hold_out_member(training: MemberTraining, member: Member, splits: Splits, out_of_bag: bool) -> Measured | Exception:
    """Return the held-out probabilities of a member, or the error, so that other members can still be used.

    If a member fails because values are missing, it is fitted again with imputation by medians.
    """
    started = time.perf_counter()
    try:
        scores, fitted = training.hold_out(member, splits, out_of_bag=out_of_bag)
        if not np.isfinite(scores[held_out_samples(splits, len(scores))[0]]).all():
            raise ValueError("its probabilities are not finite")
    except Exception as error:  # any error of a user-defined classifier
        own = member.estimator
        if getattr(own, "impute", False) or isinstance(own, Pipeline) or not has_missing(training.data.X):
            return error
        imputed = hold_out_member(training, add_imputation(member), splits, out_of_bag)
        return imputed._replace(note=note_preparations(True)) if isinstance(imputed, Measured) else error
    return Measured(member, scores, time.perf_counter() - started, fitted, training.note(member))


def weigh_samples(member: Member, argument: str | None, sample_weights: Weights) -> Member:
    """Return a member whose ``fit`` gets these weights, multiplied by weights that it already gets."""
    passed = member.passed or {}
    if argument is None:
        return member
    return member._replace(passed={**passed, argument: sample_weights * passed.get(argument, 1.0)})


def add_imputation(member: Member) -> Member:
    """Return a member that replaces missing numbers by medians, and adds missing-value indicators."""
    model = member.estimator
    if hasattr(model, "impute"):
        return member._replace(estimator=clone(model).set_params(impute=True))
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    passed = {f"member__{name}": value for name, value in (member.passed or {}).items()}
    return member._replace(estimator=Pipeline([("impute", imputer), ("member", model)]), passed=passed)


def note_of(measured: Measured | Exception) -> str:
    """Describe the preprocessing for a member, or the reason for its exclusion."""
    if isinstance(measured, Measured):
        return measured.note
    return f"excluded, since it cannot be fitted ({str(measured).rstrip('.')})"
