"""Players that choose by one-ply values, and their analysis of given boards."""
