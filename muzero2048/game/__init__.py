"""2048 on the device: environment, observation, symmetry and start positions."""
