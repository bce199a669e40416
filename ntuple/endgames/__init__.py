"""Exact endgames of 2048 on 4x4: tables of the probability to build a tile while the large tiles stand still."""
