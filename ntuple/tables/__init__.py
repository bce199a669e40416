"""n-tuple networks: patterns, memory layout, stages, and operations on whole networks."""
