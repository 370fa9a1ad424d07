"""Pages that compare a run with the tables of the papers."""
