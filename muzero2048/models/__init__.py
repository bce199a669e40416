"""Models of the game: the interface, the latent model and the grounded model."""
