"""Values of a deep network without a model or a tree: TD-afterstate and Q-learning (Guei 2023, sec. 4.4.2)."""
