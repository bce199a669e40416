"""The process of a player: what it does before the first question, and where what it prints goes."""

import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest

from launch.errors import UserError
from launch.evaluation.loading import LoadedPlayer, load_player
from launch.evaluation.search_options import SearchOptions
from launch.viewing import agent_process
from launch.viewing.agent_process import run_agent
from launch.viewing.catalogue import Choice
from ntuple.core.games.definition import State


def test_a_player_is_compiled_before_it_is_loaded(monkeypatch: pytest.MonkeyPatch):
    """So that the first search is not shown with the time of compiling; the search of the empty board is short."""
    happened: list[Any] = []

    def advise(self: LoadedPlayer, board: Any, seed: int = 0) -> None:
        happened.append(board)

    monkeypatch.setattr(LoadedPlayer, "advise", advise)
    monkeypatch.setattr(agent_process, "_send", lambda connection, message: happened.append(message))
    ours, theirs = multiprocessing.Pipe()
    ours.close()  # no question comes
    run_agent(theirs, Choice("heuristic", "2x3", SearchOptions(plies=4)))
    assert happened == [State(((0, 0, 0), (0, 0, 0))), {"name": "heuristic, expectimax-p4"}]
    theirs.close()


@pytest.mark.parametrize("search", ["expectimax", "mcts"])
def test_compiling_does_not_search_until_a_time_limit(search: str, runs: Path):
    player = load_player(runs / "tiny", SearchOptions(search, overrides=("search.seconds=600",)))
    began = time.monotonic()
    agent_process._compile(player)
    assert time.monotonic() - began < 600


def test_what_a_process_prints_goes_to_the_log(tmp_path: Path):
    """A library that prints while a player is loaded or searches would damage the screen."""

    class Loud(Choice):
        def load(self) -> LoadedPlayer:
            os.write(1, b"one\n")
            os.write(2, b"two\n")
            raise UserError("no player")

    ours, theirs = multiprocessing.Pipe()
    saved = [os.dup(descriptor) for descriptor in (1, 2)]
    try:
        run_agent(theirs, Loud("greedy", "2x2", SearchOptions()), tmp_path / "log")
    finally:
        for descriptor, old in zip((1, 2), saved, strict=True):
            os.dup2(old, descriptor)
            os.close(old)
    assert (tmp_path / "log").read_text() == "one\ntwo\n"
    assert json.loads(ours.recv_bytes()) == {"error": "no player"}
    ours.close()
    theirs.close()
