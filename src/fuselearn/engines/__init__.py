"""Engines: a typed facade of the compiled core. Functions take arrays and return arrays."""
