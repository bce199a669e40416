"""Faults in the game in the terminal."""

from faults.mutant import Mutant

PLAY = (
    Mutant(
        "the-layout-is-that-of-the-last-resize",
        "launch/viewing/terminal/screen.py",
        "self._show(event.size)",
        "self._show()",
        ("launch/viewing/test_terminal.py",),
    ),
    Mutant(
        "advice-about-the-board-before-is-shown-to-a-person",
        "launch/viewing/terminal/screen.py",
        "if self.is_playing and self.place not in self.known else",
        "if self.place not in self.known else",
        ("launch/viewing/test_terminal.py",),
    ),
    Mutant(
        "a-move-by-hand-waits-for-the-search-of-the-board-before",
        "launch/viewing/terminal/screen.py",
        "        if self.place not in self.known:\n            self._give_up()",
        "        if self.place not in self.known:\n            pass",
        ("launch/viewing/test_terminal.py",),
    ),
    Mutant(
        "an-answer-about-the-board-before-is-kept",
        "launch/viewing/terminal/screen.py",
        "if self._request is not asyncio.current_task():",
        "if False:",
        ("launch/viewing/test_terminal.py",),
    ),
    Mutant(
        "taking-back-keeps-the-last-board",
        "launch/viewing/terminal/played_game.py",
        "self._states.pop()",
        "self._states.pop(0)",
        ("launch/viewing/test_terminal.py",),
    ),
)
