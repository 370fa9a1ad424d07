"""Multi-label ensembles: several labels per row, one (n, L) array of probabilities."""
