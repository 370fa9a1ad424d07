"""Building blocks of multi-label classifiers: base class, label learners, hierarchies, fusion and filtering."""
