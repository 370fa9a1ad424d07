"""Kernels over tables of labels."""
