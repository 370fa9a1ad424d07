"""Error-correcting output codes: many classes through a few two-class models."""
