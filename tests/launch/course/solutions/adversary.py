"""The functions that docs/course/starters/adversary.py leaves out."""
# ruff: noqa: F821


def evaluate(game, board):
    lines = [tuple([board[cell] for cell in cells]) for cells in LINES["L"] + LINES["U"]]
    return board.count(0) + sum(slide(game, line)[1] > 0 for line in lines)


def choose_placement(game, after, drawn):
    def value_of(state, plies, least):
        """Return the value of the best move; where it is `least` or more, any such value will do."""
        best = -1000.0 - plies  # no legal move: the sooner, the better
        for _, following in moves(game, state).values():
            if plies == 1:
                value = evaluate(game, following.board)
            elif game == "threes":
                value = least_of(following, 0, plies - 1)
            else:
                value = 0.75 * least_of(following, 1, plies - 1) + 0.25 * least_of(following, 3, plies - 1)
            best = max(best, value)
            if best >= least:  # another placement is better for the adversary
                break
        return best

    def least_of(following, tile, plies):
        least = float("inf")
        for _, state in placements(game, following, tile):
            least = min(least, value_of(state, plies, least))
        return least

    chosen, least, legal = None, float("inf"), placements(game, after, drawn)
    plies = 3 if game == "threes" and len(legal) < 7 else 2
    for placement in legal:
        value = value_of(placement[1], plies, least)
        if chosen is None or value < least:
            chosen, least = placement, value
    return chosen
