"""n-tuple networks: their tables, the entries and value of a board, stages, and operations on whole networks."""
