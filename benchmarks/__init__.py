"""Experiments about accuracy and cost, run from a checkout: `python -m benchmarks.NAME`. The wheel has none of them."""
