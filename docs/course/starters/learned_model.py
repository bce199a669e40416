"""Model-based learning: a small game whose rules are not told.

    muzero2048 grade learned-model "python learned_model.py"

The program plays against a black box over its standard input and output. It learns a model of the game from samples,
plans on this model, and answers `ready` when it knows enough; then 200 games are graded, by the games won and by the
number of samples. The page learned-model.md has the protocol and the formulas. Three functions are left out: `learn`,
`plan` and `explore`. Everything else is complete.

    cells    the four symbols of a line, a tuple of integers; what they mean is not told
    action   0, 1, 2 or 3; what it does is not told
    outcome  (reward, is_over, cells): what followed an action
    model    model.outcomes[cells, action] counts the outcomes of the samples
    values   values[cells] is a list of four: the value of each action in the plan
"""

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

Cells = tuple[int, ...]
Outcome = tuple[int, bool, Cells]
Values = dict[Cells, list[float]]


class Model(NamedTuple):
    """What was learned from the samples."""

    outcomes: dict[tuple[Cells, int], Counter[Outcome]]


def learn(model: Model, cells: Cells, action: int, outcome: Outcome) -> None:
    """Put one sample into the model: `outcome` followed after `action` in `cells`.

    The share of an outcome among those of (cells, action) then estimates its probability.
    """
    raise NotImplementedError("write learn: one more sample in the model")


def plan(model: Model) -> Values:
    """Return values of the four actions of all cells that the model knows: the points that follow on average.

    Value iteration on the model: Q(s, a) = sum over outcomes of share * (reward + max_a' Q(s', a')), and no value after
    the end of the game. Two cases need a decision: an action without samples, and one that changes nothing, whose
    Q(s, a) = max Q(s, a') must not win a tie, because the game would stand still.
    """
    raise NotImplementedError("write plan: values of the actions by value iteration on the model")


def explore(model: Model, values: Values, cells: Cells) -> int:
    """Return the next action while learning; `values` is the last plan.

    A random action learns much about the first moves and little about what follows good play. Better: actions with few
    samples first, then those that the plan prefers. Cells may be new to the model and to the plan.
    """
    raise NotImplementedError("write explore: an action from 0 to 3")


def play(values: Values, cells: Cells) -> int:
    """Return the best action of the plan; any action in cells that it does not know."""
    known = values.get(cells)
    return max(range(4), key=known.__getitem__) if known else random.randrange(4)


def read() -> Iterator[Outcome]:
    """Yield the lines of the black box: `REWARD OVER C0 C1 C2 C3`."""
    for line in sys.stdin:
        reward, is_over, *cells = map(int, line.split())
        yield reward, bool(is_over), tuple(cells)


def act(answer: int | str) -> None:
    """Answer the black box."""
    print(answer, flush=True)


def learn_game(lines: Iterator[Outcome], samples: int, sweeps_every: int) -> Values:
    """Play games for so many samples, and return the plan after them; the last game is left."""
    model = Model(defaultdict(Counter))
    values = plan(model)  # of nothing: {}
    _, _, cells = next(lines)
    for sample in range(1, samples + 1):
        action = explore(model, values, cells)
        act(action)
        outcome = next(lines)
        learn(model, cells, action, outcome)
        _, is_over, cells = outcome
        if is_over:  # the next line is the first one of a new game
            _, _, cells = next(lines)
        if sample % sweeps_every == 0:
            values = plan(model)
    act("ready")
    return plan(model)


def main() -> None:
    """Learn, then play the graded games."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000, help="actions before the graded games")
    parser.add_argument("--plan-every", type=int, default=100, help="samples between two plans while learning")
    options = parser.parse_args()
    random.seed(1)  # the same samples give the same plan
    lines = read()
    try:
        values = learn_game(lines, options.samples, options.plan_every)
        for _, is_over, cells in lines:
            if not is_over:
                act(play(values, cells))
    except NotImplementedError as error:
        sys.exit(f"learned_model.py: {error}")


if __name__ == "__main__":
    main()
