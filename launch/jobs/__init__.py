"""Sets of runs: which runs, where they are trained, and where each of them stands."""
