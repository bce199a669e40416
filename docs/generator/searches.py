"""The searches of an evaluation and the classes of their keys."""

from collections.abc import Callable

from launch.experiment import registry

# Title -> function that returns the class of the keys.
SEARCHES: dict[str, Callable[[], type]] = {
    "Tree search in JAX: `--search gumbel` and `puct`": registry.search_config,
    "Expectimax of a network: `--search expectimax`": registry.network_expectimax_config,
    "Expectimax on n-tuple or heuristic values: `--search expectimax`": registry.expectimax_config,
    "Monte Carlo tree search on n-tuple values: `--search mcts`": registry.mcts_config,
}
