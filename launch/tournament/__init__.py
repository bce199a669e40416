"""Tournaments: programs that play against each other, as player and as adversary; the protocol, ratings."""
