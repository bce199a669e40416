"""Deep value networks without a model or a search: TD-afterstate and Q-learning (Guei 2023, sec. 4.4.2)."""
