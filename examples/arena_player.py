"""A program for `muzero2048 tournament` on 2048: the protocol in 40 lines (docs/tournament.md)."""

import sys


def slide(board: list[int], action: str) -> list[int]:
    """Return the board after a move; 16 cells row by row hold log2 of the tile, 0 = empty."""
    after = board[:]
    for line in range(4):
        cells = [4 * place + line if action in "UD" else 4 * line + place for place in range(4)]
        cells = cells[::-1] if action in "DR" else cells
        tiles, merged = [board[cell] for cell in cells if board[cell]], []
        while tiles:
            tile = tiles.pop(0)
            merged.append(tile + 1 if tiles and tiles[0] == tile and tiles.pop(0) else tile)
        for cell, tile in zip(cells, merged + [0] * 4, strict=False):
            after[cell] = tile
    return after


board, i_place = [0] * 16, False
for line in sys.stdin:
    game, _, action = line.strip().partition(" ")
    if action.startswith("open "):
        board, i_place, answer = [0] * 16, False, "open accept"
    elif action == "?" and not i_place:  # slide: the most empty cells after the move
        moves = [move for move in "DLRU" if slide(board, move) != board]
        answer = "#" + max(moves, key=lambda move: slide(board, move).count(0))
        board = slide(board, answer[1])
    elif action == "?":  # place: a 4 in the last empty cell
        cell = max(cell for cell in range(16) if not board[cell])
        board[cell], i_place, answer = 2, False, f"{cell:X}2"
    else:
        answer = ""
        if action.startswith("#"):
            board, i_place = slide(board, action[1]), True
        elif len(action) == 2:
            board[int(action[0], 16)] = int(action[1], 36)
    if answer:
        print(game, answer, flush=True)
