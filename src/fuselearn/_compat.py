"""The private functions of scikit-learn that the library uses."""

from sklearn.base import _clone_parametrized as clone_parameters
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils.validation import _num_samples as count_rows

__all__ = ["clone_parameters", "count_rows", "take_rows"]
