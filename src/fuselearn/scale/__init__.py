"""Training on partitioned data: on the workers of a Dask cluster, or on disk.

A fit is a chain of tasks. Each task is a pure function of one part and of the current fit, and a ``Session`` runs it.
Random draws depend only on the index of a sample, and sums are exact, so the model depends neither on the partitioning
nor on the workers. See docs/scale.md.
"""

from fuselearn.scale.ensemble import DaskEnsemble, DiskEnsemble
from fuselearn.scale.sources import Source

__all__ = ["DaskEnsemble", "DiskEnsemble", "Source"]
