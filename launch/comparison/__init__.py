"""Comparison of runs: curves, figures, HTML pages and result tables."""
