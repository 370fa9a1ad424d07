"""Training on a Dask cluster: the same model for any partitioning and any number of workers.

A cluster is what a Dask client is connected to; all work is ordinary Dask tasks. See docs/scale.md.
"""

from fuselearn._extras import require

require("fuselearn.dask", "dask", "distributed")

from fuselearn.dask.estimators import (  # noqa: E402
    DaskBaggedClassifier,
    DaskForestClassifier,
    DaskKFHEClassifier,
    DaskSAMMEClassifier,
)

__all__ = ["DaskBaggedClassifier", "DaskForestClassifier", "DaskKFHEClassifier", "DaskSAMMEClassifier"]
