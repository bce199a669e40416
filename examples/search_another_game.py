"""The search of this project on a game that is not 2048: Gumbel search with chance nodes, beside the exact optimum.

    python examples/search_another_game.py

The game, a turn of "press your luck": the player has a die of 4, of 6 and of 8 faces and 0 points. A move stops, or
rolls one of the dice that are left. A roll adds its points and uses up the die, but a 1 ends the turn with nothing.
Stopping earns the points.

What the search asks of a game is `muzero2048.search.base.Dynamics`: `move` (the player's half of a step, with its
reward), `spawn` (the half of chance), and an evaluation of what they lead to. Everything has a batch axis B. A game has
at most 4 actions (`NUM_ACTIONS`) and any number of chance codes; what does not apply is masked.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from muzero2048.search.base import ILLEGAL, Afterstate, Decision, Plan, Root
from muzero2048.search.config import GumbelConfig, SearchConfig
from muzero2048.search.plan_move import plan

STOP = 0  # actions 1, 2, 3 roll a die
FACES = (1, 4, 6, 8)  # of the die of each action
CODES = max(FACES)  # chance codes: the face of the die - 1


CONFIG = SearchConfig(
    simulations=1024,
    gumbel=GumbelConfig(considered_actions=4),
    inside="puct",
    chance="weighted",  # each face once; an afterstate's value is the mean weighted by the probabilities
    read_out="expectimax",
)


class Turn(NamedTuple):
    """States and afterstates of the game: both have the same fields."""

    points: Int[Array, "B"]
    dice: Int[Array, "B"]  # the dice that are left: bit a is set if action a is legal
    rolled: Int[Array, "B"]  # the die in the air, an action; STOP in a state, and after a stop
    over: Bool[Array, "B"]


class PressYourLuck:
    """The model: the rules, with the points so far as the value of a state."""

    codes = CODES

    def root(self, board: Turn) -> Decision:
        """Evaluate states: uniform policy over the legal actions, value = what stopping earns."""
        legal = ((board.dice[:, None] >> jnp.arange(4)) & 1 == 1) & ~board.over[:, None]
        return Decision(
            state=board,
            value=jnp.where(board.over, 0, board.points).astype(jnp.float32),
            policy_logits=jnp.where(legal, 0.0, ILLEGAL),
        )

    def move(self, state: Turn, action: Int[Array, "B"]) -> Afterstate:
        """Stop, or pick up a die; the value of the afterstate is the mean number of points after the roll."""
        faces, stops = jnp.array(FACES)[action], action == STOP
        kept = (faces - 1) * state.points + (faces - 1) * (faces + 2) / 2  # sum over the faces 2 to F
        return Afterstate(
            state=state._replace(rolled=action, over=state.over | stops),
            value=jnp.where(state.over | stops, 0.0, kept / faces),
            reward=jnp.where(stops, state.points, 0).astype(jnp.float32),
            probabilities=(jnp.arange(CODES) < faces[:, None]) / faces[:, None],
        )

    def spawn(self, afterstate: Turn, code: Int[Array, "B"]) -> Decision:
        """Let the die show code + 1."""
        over = afterstate.over | (code == 0)
        dice = afterstate.dice & ~(1 << afterstate.rolled) | 1  # one may always stop
        points = jnp.where(over, afterstate.points, afterstate.points + code + 1)
        return self.root(Turn(points, dice, jnp.full_like(code, STOP), over))


def search(positions: Sequence[tuple[int, int]], config: SearchConfig) -> Plan:
    """Plan a move in each position, (points, dice)."""
    points, dice = jnp.array(positions).T
    model = PressYourLuck()
    state, value, logits = model.root(Turn(points, dice, jnp.zeros_like(dice), jnp.zeros(len(dice), bool)))
    no_noise, seeds = jnp.zeros_like(logits), jnp.arange(len(points), dtype=jnp.uint32)
    root = Root(state, logits, value, legal=logits > ILLEGAL / 2, gumbel=no_noise, seeds=seeds)
    return jax.jit(lambda root: plan(model, root, config, discount=1.0)[0])(root)


@functools.cache
def optimum(points: int, dice: int) -> tuple[float, ...]:
    """Compute q(s, a) of the four actions by dynamic programming; -inf for a die that is used up."""

    def roll(action: int) -> float:
        left = dice & ~(1 << action)
        return sum(max(optimum(points + face, left)) for face in range(2, FACES[action] + 1)) / FACES[action]

    return (float(points), *(roll(action) if dice >> action & 1 else -float("inf") for action in (1, 2, 3)))


def reachable(points: int = 0, dice: int = 0b1111) -> set[tuple[int, int]]:
    """Return the positions (points, dice) of a turn that is not over."""
    rolls = [(points + face, dice & ~(1 << a)) for a in (1, 2, 3) if dice >> a & 1 for face in range(2, FACES[a] + 1)]
    return {(points, dice)}.union(*(reachable(*roll) for roll in rolls))


def main() -> None:
    """Print the search's policy beside the optimum in every position."""
    positions = sorted(reachable(), key=lambda position: (-position[1].bit_count(), position[1], position[0]))
    result = search(positions, CONFIG)
    names = ("stop", "d4", "d6", "d8")
    print("points  dice        optimum          search: move, q, policy (stop, d4, d6, d8)")
    right = 0
    for row, (points, dice) in enumerate(positions):
        exact = optimum(points, dice)
        best, chosen = exact.index(max(exact)), int(result.action[row])
        right += exact[chosen] > max(exact) - 1e-6
        left = " ".join(names[a] for a in (1, 2, 3) if dice >> a & 1)
        policy = " ".join(f"{p:.2f}" for p in result.policy_target[row])
        print(
            f"{points:6d}  {left:10s}  {names[best]:4s} {max(exact):6.3f}      {names[chosen]:4s} "
            f"{result.q_values[row, chosen]:6.3f}   {policy}"
        )
    print(f"{right} of {len(positions)} moves of the search are optimal")


if __name__ == "__main__":
    main()
