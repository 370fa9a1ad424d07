"""Statistics of results: means over folds, ranks, and tests of significance."""
