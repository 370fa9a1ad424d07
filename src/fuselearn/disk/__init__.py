"""Training on tables that are larger than memory: coded once to bytes on disk, and trained from the codes.

See docs/scale.md.
"""

from fuselearn.disk.estimators import (
    DiskBaggedClassifier,
    DiskForestClassifier,
    DiskKFHEClassifier,
    DiskSAMMEClassifier,
)
from fuselearn.disk.sources import Source

__all__ = ["DiskBaggedClassifier", "DiskForestClassifier", "DiskKFHEClassifier", "DiskSAMMEClassifier", "Source"]
