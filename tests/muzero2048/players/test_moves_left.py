import numpy as np
import pytest

from muzero2048.players.moves_left import moves_left


@pytest.mark.parametrize("spread", [0.3, 0.43])
@pytest.mark.parametrize("games", [512, 1000])
def test_the_estimate_is_right_within_a_factor(rng: np.random.Generator, games: int, spread: float) -> None:
    """512 lanes play games of gamma-distributed moves; the end of all is known."""
    lanes, shape = 512, 1 / spread**2
    moves = rng.gamma(shape, 400 / shape, games).astype(int) + 1
    begin, free = np.zeros(games, int), moves[:lanes].copy()
    for game in range(lanes, games):
        lane = free.argmin()
        begin[game] = free[lane]
        free[lane] += moves[game]
    end = begin + moves
    assert moves_left(moves[:0], moves, 0) is None
    assert moves_left(moves, moves[:0], 0) == 0.0
    for share in (0.1, 0.2, 0.4, 0.6):
        now = int(share * end.max())
        ended, waits = end <= now, begin > now
        left = moves_left(moves[ended], now - begin[~ended & ~waits], int(waits.sum()))
        assert left is not None
        assert 1 / 3 < left / (end.max() - now) < 3
        by_games = now / ended.sum() * (games - ended.sum())  # as if each game took the same time
        assert share > 0.1 or by_games > 3 * (end.max() - now)
