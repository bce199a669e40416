"""The functions that docs/course/starters/tournament_player.py leaves out."""
# ruff: noqa: F821


def choose_move(game, state):
    def value_of(after):
        """Return the value of the best move after the worst placement; of 2584 tiles on average."""
        tiles = ((0, 1.0),) if game == "threes" else ((1, 0.75), (3, 0.25))
        return sum(chance * min(map(value_of_state, placements(game, after, tile))) for tile, chance in tiles)

    def value_of_state(placement):
        following = moves(game, placement[1]).values()
        return max((points / 100 + evaluate(game, after.board) for points, after in following), default=-1000.0)

    legal = moves(game, state)
    return max(legal, key=lambda action: legal[action][0] / 100 + value_of(legal[action][1]))


def choose_placement(game, after, drawn):
    def value_of_state(placement):
        following = moves(game, placement[1]).values()
        return max((points / 100 + evaluate(game, after.board) for points, after in following), default=-1000.0)

    return min(placements(game, after, drawn), key=value_of_state)
