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
    errors = []
    for share in (0.2, 0.4, 0.6):
        now = int(share * end.max())
        ended, waits = end <= now, begin > now
        left = moves_left(moves[ended], now - begin[~ended & ~waits], int(waits.sum()))
        assert left is not None
        by_games = now / ended.sum() * (games - ended.sum())  # as if each game took the same time
        errors.append(np.abs(np.log([left, by_games]) - np.log(end.max() - now)))
    worst, worst_by_games = np.exp(np.max(errors, axis=0))
    assert worst < 4
    assert worst_by_games > 4
    assert worst < worst_by_games / 2
