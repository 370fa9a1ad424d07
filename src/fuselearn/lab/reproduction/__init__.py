"""The pages that set a run beside the tables of the papers."""
