"""Diagnosis: where an estimator's error comes from, and which labels are doubtful."""
