"""The faults of `python tests/mutants.py`, in one list: typical programming errors in all parts of the code."""

from faults.cells import CELLS
from faults.comparison import COMPARISON
from faults.docs import DOCS
from faults.jobs import JOBS
from faults.learning import LEARNING
from faults.library import LIBRARY
from faults.ntuple import NTUPLE
from faults.play import PLAY
from faults.replay import REPLAY
from faults.rules import RULES
from faults.runs import LAUNCH
from faults.search import MUZERO
from faults.viewing import VIEWING

MUTANTS = (
    *(*RULES, *NTUPLE, *MUZERO, *LEARNING, *CELLS, *LAUNCH, *JOBS),
    *(*COMPARISON, *LIBRARY, *VIEWING, *PLAY, *REPLAY, *DOCS),
)
