"""Boards: their notation, what a player says of one, and exact solutions of small ones."""
