"""Monte Carlo tree search on n-tuple values. `search` has rules, network, settings and the tree, which is changed."""
