"""Faults in the page of serve."""

from faults.mutant import Mutant

VIEWING = (
    Mutant(
        "another-name-of-this-machine-is-served",
        "launch/viewing/serve/guard.py",
        "if not (_is_address(named) or",
        "if not (named or",
        ("launch/viewing/test_serve.py",),
    ),
    Mutant(
        "each-byte-of-a-header-gives-it-more-time",
        "launch/viewing/serve/connections.py",
        "        elif self._deadline is None:\n            self._wait_for_header()",
        "        else:\n            self._end_deadline()\n            self._wait_for_header()",
        ("launch/viewing/test_serve.py",),
    ),
    Mutant(
        "every-spawn-of-the-page-has-the-same-number",
        "launch/viewing/game.py",
        "seed, OPENING + moves)",
        "seed, OPENING)",
        ("launch/viewing/test_game.py",),
    ),
    Mutant(
        "words-of-the-page-are-signed",
        "launch/viewing/game.py",
        "return Board(np.uint64(board.lo), np.uint64(board.hi))",
        "return Board(int(board.lo), int(board.hi))",
        ("launch/viewing/test_game.py",),
    ),
    Mutant(
        "a-search-outlives-its-page",
        "launch/viewing/serve/server.py",
        "    finally:\n        task.cancel()",
        "    finally:\n        pass",
        ("launch/viewing/test_serve.py",),
    ),
    Mutant(
        "compiling-counts-as-search",
        "launch/viewing/agent_process.py",
        "        _compile(analyst)\n",
        "",
        ("launch/viewing/test_terminal.py",),
    ),
    Mutant(
        "an-outcome-is-in-another-cell",
        "ntuple/mcts/play.py",
        "kth_cell(empty, np.uint64(place >> 1))",
        "kth_cell(empty, np.uint64(0))",
        ("ntuple/mcts/test_search.py",),
    ),
)
