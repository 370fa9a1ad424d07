"""Combining models that exist: fixed rules, learned weights, ensemble selection."""
