"""Comparison of runs: selection, curves, final evaluations, tests of differences, figures, CSV files."""
