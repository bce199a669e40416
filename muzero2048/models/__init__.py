"""Models of the game: the interface, the latent model, the model of cells and the grounded model."""
