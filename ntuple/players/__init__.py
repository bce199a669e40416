"""Players that choose moves by one-ply values, and their analysis of given boards."""
