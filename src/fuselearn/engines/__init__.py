"""Engines: numerical kernels that take arrays and give arrays."""
