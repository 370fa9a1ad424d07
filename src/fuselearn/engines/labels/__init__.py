"""Loops over tables of labels."""
