"""Training on a table in parts, wherever they are kept: on the workers of a Dask cluster, or on disk.

A fit is a chain of tasks, each a pure function of one part and of the fit so far, which a ``Session`` performs.
Everything random about a sample depends on its number, and sums are exact, so the model depends neither on how the
samples are divided nor on who performs which task. See docs/scale.md.
"""

from fuselearn.scale.ensemble import DaskEnsemble, DiskEnsemble
from fuselearn.scale.sources import Source

__all__ = ["DaskEnsemble", "DiskEnsemble", "Source"]
