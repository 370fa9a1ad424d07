"""One module per claim about speed or memory; each prints both sides of its comparison."""
