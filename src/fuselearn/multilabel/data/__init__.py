"""Tables of labels: reading them in any form, and dividing them into folds."""
