"""`muzero2048 serve RUN --export FILE`: write the page of one n-tuple network."""

from collections.abc import Sequence
from pathlib import Path

from launch.errors import UserError
from launch.evaluation.loading import UNTRAINED, find_player
from launch.evaluation.search_options import SearchOptions
from launch.jobs.run_states import find_runs
from launch.trained import DEFAULT, PAGE_SCORE, packaged
from launch.viewing import one_file
from launch.viewing.export.page import render
from launch.viewing.export.weights import TooLargeError, pack
from ntuple import NTupleConfig
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.files.stored_network import StoredNetwork, load_stored
from ntuple.tables.stages import count_stages

OPTION = "--export"
MOST_BYTES = 32_000_000  # of the page; browsers on phones load more, but slowly
ROOM = 100_000  # bytes of the page without its weights, at most


def export(runs: Sequence[str], runs_folder: Path, out: Path, score_line: str | None = None) -> None:
    """Write the page of the network of a run or checkpoint, and print where it is.

    Args:
        runs: one run, checkpoint or group of one run, as `serve` finds it; none: the network of the package.
        out: the page.
        score_line: what this network scores in the page, in words, shown as it is; None: that of a network of the
            package, or nothing.

    Raises:
        UserError: the page does not play this player, would be too large, or cannot be written.
    """
    if len(runs) == 1 and not (runs[0] in UNTRAINED or packaged(runs[0])):
        runs = list(map(str, find_runs(runs, runs_folder)))
    path, *others = runs or [DEFAULT]
    if others:
        raise UserError(f"{OPTION} writes the page of one player, not of {len(runs)}; give one RUN")
    if score_line is None and path == DEFAULT and packaged(path):
        score_line = PAGE_SCORE
    one_file.check_path(OPTION, out)
    name, env_steps, network = _network_of(path)
    try:
        packed = pack([table[0] for table in network.tables(network.weights)], MOST_BYTES - ROOM)
    except TooLargeError:
        raise UserError(
            f"{path}: its page would be larger than {MOST_BYTES / 1e6:.0f} MB, with {network.weights.size:,} "
            "weights; train a network with fewer or shorter tuples, such as ntuple.network=4x5, or for fewer moves"
        ) from None
    text = render(name, env_steps, network, packed, score_line)
    one_file.write(OPTION, out, text)
    print(
        f"{out}: {name}, {network.weights.size:,} weights in half precision, "
        f"{len(packed.text) / 1e6:,.1f} of {len(text.encode()) / 1e6:,.1f} MB"
    )


def _network_of(path: str) -> tuple[str, int, StoredNetwork]:
    """Return the name of a run, the moves of its training, and its network; UserError if the page cannot play it."""
    source = find_player(path, SearchOptions())
    if source.checkpoint is None:
        raise UserError(f"the page plays n-tuple networks only, and {path} has none; give the run of a network")
    folder, experiment, state = source.checkpoint
    config = experiment.settings
    if not isinstance(config, NTupleConfig):
        raise UserError(
            f"the page plays n-tuple networks only, and {path} was trained by {experiment.learner}; "
            "look at it with serve alone"
        )
    if config.game != GAME_2048.name:
        raise UserError(f"{path} plays {config.game}; the page plays networks of 2048 only")
    if config.values != "afterstate":
        raise UserError(f"{path} values {config.values}s; the page plays networks of afterstates only")
    if (stages := count_stages(config.stages)) > 1:
        raise UserError(f"{path} has {stages} stages; the page plays networks of one stage only")
    try:
        network = load_stored(folder, config).promoted()
    except ValueError as error:
        raise UserError(str(error)) from error
    return experiment.run.name, state.progress["env_steps"], network
