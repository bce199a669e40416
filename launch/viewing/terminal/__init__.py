"""`muzero2048 play`: the game in the terminal."""
