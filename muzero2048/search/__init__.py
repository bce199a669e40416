"""Planning: Gumbel and PUCT search over learned or simulated dynamics."""
