"""Decision rules: from probabilities of labels to labels."""
