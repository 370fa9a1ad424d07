"""Multi-label data: validation of labels, and stratified folds."""
