"""2048 and the other games of its family on the device: environments, openings, and the symmetric views of a board."""
