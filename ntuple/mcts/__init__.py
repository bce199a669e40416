"""Monte Carlo tree search on n-tuple values. `search` has the settings, `tree` is the memory of one game, changed."""
