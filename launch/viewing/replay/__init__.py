"""`muzero2048 replay`: one page of recorded games."""
