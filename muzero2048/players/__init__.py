"""Players by search, and their analysis of given boards."""
