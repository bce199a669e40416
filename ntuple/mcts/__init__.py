"""Monte Carlo tree search over n-tuple values (Guei 2023, sec. 4.3)."""
