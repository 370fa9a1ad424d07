"""What results say: means over folds, ranks, and the tests that tell a difference from chance."""
