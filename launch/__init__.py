"""Everything that starts, follows, evaluates and compares runs of either learner."""
