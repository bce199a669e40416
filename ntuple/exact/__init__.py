"""Exact solutions of small boards.

`states` and `afters` are codes, the smallest words of all views, in layers of equal sum of the tiles: layer k has the
sum 2k and begins at `starts[k]`. The game is over on a board with a tile 2^`until`; `tile` is log2 of the tile whose
probability is computed.
"""
