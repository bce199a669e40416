"""Planning: Gumbel MuZero or PUCT at the root, the decision and chance nodes of Stochastic MuZero inside."""
