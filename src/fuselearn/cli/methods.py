"""The methods that `fuselearn train` offers, and their settings."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fuselearn.cli.errors import WRONG_USE, leave
from fuselearn.lab.methods import METHODS, import_method

__all__ = ["AnyMethod", "ForClasses", "ForLabels", "make_model"]

if TYPE_CHECKING:
    AnyMethod: TypeAlias = str
    ForClasses: TypeAlias = str
    ForLabels: TypeAlias = str
else:

    def _ours(task: str) -> Any:
        return Literal[tuple(name for name, path in METHODS[task].items() if path.startswith("fuselearn."))]

    ForClasses, ForLabels = _ours("multiclass"), _ours("multilabel")
    AnyMethod = Literal[ForClasses, ForLabels]

TREES: dict[str, dict[str, Any]] = {"kfhe": {"complexity": None}, "adaboost": {}, "bagging": {}}
"""The trees of ensembles for classes."""
NO_SVM = ("kfhe", "plst")
"""Methods for labels that take an estimator, but not an SVM by default."""


def make_model(method: str, settings: list[str], seed: int, jobs: int, *, for_labels: bool = False) -> Any:
    """Return an unfitted estimator.

    Parameters
    ----------
    method : str
        One of `ForClasses` or `ForLabels`.
    settings : list of str
        Parameters as ``NAME=VALUE``.
    seed, jobs : int
        For estimators that take them.
    for_labels : bool, default=False
        Whether samples have several labels, for methods that exist for classes and for labels.
    """
    model = import_method(method, "multilabel" if for_labels else "multiclass")
    _show_base(model, method, for_labels)
    known = model.get_params()
    chosen = {"random_state": seed, "n_jobs": jobs}
    for text in settings:
        name, mark, value = text.partition("=")
        if not mark or name not in known:
            names = ", ".join(sorted(set(known) - set(chosen)))
            leave(f"--set takes NAME=VALUE with a parameter of {method}: {names}. Got {text!r}.", WRONG_USE)
        chosen[name] = _read_value(value)
    return model.set_params(**{name: value for name, value in chosen.items() if name in known})


def _show_base(model: Any, method: str, for_labels: bool) -> None:
    """Pass the default base estimator explicitly, so that --set reaches estimator__C and estimator__max_depth."""
    from fuselearn.ensembles import CARTClassifier, SVMClassifier
    from fuselearn.multilabel.methods.kfhe_homer import DEFAULT_VARIED

    own = model.get_params(deep=False)
    if not for_labels and method in TREES:
        model.set_params(estimator=CARTClassifier(**TREES[method]))
    elif for_labels and own.get("estimator", model) is None and method not in NO_SVM:
        model.set_params(estimator=SVMClassifier())
        if "varied" in own:  # which depends on whether an estimator is passed
            model.set_params(varied=DEFAULT_VARIED)


def _read_value(text: str) -> Any:
    """Parse a number, None, True or False; anything else is text."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
