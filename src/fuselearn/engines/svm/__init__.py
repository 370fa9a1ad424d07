"""An engine for ensembles of support vector machines: one Gram matrix, many machines.

The flow is ``compute_gram`` (once per kernel and dataset), ``take_block`` (once per set of rows), ``train_columns``
(one machine per label column), ``decide`` (decision values from kernel values). Tables that are too large for a Gram
matrix have linear machines by ``train_linear_columns``.
"""

from fuselearn.engines.svm.coupling import Coupling, fit_coupling
from fuselearn.engines.svm.gram import compute_gram, compute_kernel
from fuselearn.engines.svm.labels import append_labels
from fuselearn.engines.svm.linear import train_linear_columns
from fuselearn.engines.svm.platt import fit_sigmoid
from fuselearn.engines.svm.scoring import collapse, decide
from fuselearn.engines.svm.smo import solve, take_block
from fuselearn.engines.svm.training import TrainedColumns, deal_folds, train_columns

__all__ = [
    "Coupling",
    "TrainedColumns",
    "append_labels",
    "collapse",
    "compute_gram",
    "compute_kernel",
    "deal_folds",
    "decide",
    "fit_coupling",
    "fit_sigmoid",
    "solve",
    "take_block",
    "train_columns",
    "train_linear_columns",
]
