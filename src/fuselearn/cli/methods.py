"""The methods that `fuselearn train` offers, by name, and their settings."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from fuselearn.cli.errors import WRONG_USE, leave

__all__ = ["ForClasses", "ForLabels", "make_model"]

ForClasses = Literal["kfhe", "fused", "kfhe-l", "adaboost", "bagging", "forest", "cart"]
ForLabels = Literal[
    "fused", "kfhe-homer", "e-homer", "homer", "kfhe-ml", "ecc", "cc", "pcc", "ebr", "br", "powerset",
    "pruned-sets", "eps", "rakel", "rf-pct", "gb-ml", "adaboost-mh", "mlknn", "brknn", "2br", "clr", "plst",
    "cplst", "lift",
]  # fmt: skip


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
    from fuselearn import combine, ensembles, multilabel
    from fuselearn.multilabel.methods.homer_ensemble import DEFAULT_VARIED

    # The defaults, passed explicitly so that --set reaches estimator__C and estimator__max_depth.
    machine, whole_tree = ensembles.SVMClassifier(), ensembles.CARTClassifier(complexity=-1.0)
    makers: dict[str, Callable[[], Any]] = {
        "kfhe": partial(ensembles.KFHEClassifier, whole_tree),
        "fused": multilabel.FusedMultilabelClassifier if for_labels else combine.FusedClassifier,
        "kfhe-l": partial(ensembles.KFHEClassifier, whole_tree, weighting="linear"),
        "adaboost": partial(ensembles.SAMMEClassifier, ensembles.CARTClassifier()),
        "bagging": partial(ensembles.BaggedClassifier, ensembles.CARTClassifier()),
        "forest": ensembles.ForestClassifier,
        "cart": ensembles.CARTClassifier,
        "kfhe-homer": partial(multilabel.KFHEHOMERClassifier, machine, varied=DEFAULT_VARIED),
        "e-homer": partial(multilabel.EnsembleHOMERClassifier, machine, varied=DEFAULT_VARIED),
        "homer": partial(multilabel.HOMERClassifier, machine),
        "kfhe-ml": multilabel.KFHEMultilabelClassifier,
        "ecc": partial(multilabel.EnsembleOfChainsClassifier, machine),
        "cc": partial(multilabel.ChainClassifier, machine),
        "pcc": partial(multilabel.ProbabilisticChainClassifier, machine),
        "ebr": partial(multilabel.EnsembleOfBinaryRelevanceClassifier, machine),
        "2br": partial(multilabel.StackedBinaryRelevanceClassifier, machine),
        "clr": partial(multilabel.CalibratedLabelRankingClassifier, machine),
        "br": partial(multilabel.BinaryRelevanceClassifier, machine),
        "powerset": partial(multilabel.LabelPowersetClassifier, machine),
        "pruned-sets": partial(multilabel.PrunedSetsClassifier, machine),
        "eps": partial(multilabel.EnsembleOfPrunedSetsClassifier, machine),
        "rakel": partial(multilabel.RAkELClassifier, machine),
        "plst": multilabel.PLSTClassifier,
        "cplst": partial(multilabel.PLSTClassifier, conditional=True),
        "lift": partial(multilabel.LIFTClassifier, machine),
        "rf-pct": multilabel.PCTForestClassifier,
        "gb-ml": multilabel.GradientBoostingMultilabelClassifier,
        "adaboost-mh": multilabel.AdaBoostMHClassifier,
        "mlknn": multilabel.MLkNNClassifier,
        "brknn": multilabel.BRkNNClassifier,
    }
    model = makers[method]()
    known = model.get_params()
    chosen = {"random_state": seed, "n_jobs": jobs}
    for text in settings:
        name, mark, value = text.partition("=")
        if not mark or name not in known:
            names = ", ".join(sorted(set(known) - set(chosen)))
            leave(f"--set takes NAME=VALUE with a parameter of {method}: {names}. Got {text!r}.", WRONG_USE)
        chosen[name] = _read_value(value)
    return model.set_params(**{name: value for name, value in chosen.items() if name in known})


def _read_value(text: str) -> Any:
    """Parse a number, None, True or False; anything else is text."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
