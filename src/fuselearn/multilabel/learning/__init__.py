"""What multi-label classifiers are made of: the base class, learners of labels, hierarchies, fusion and filtering."""
