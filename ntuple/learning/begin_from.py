"""Begin a training with the network of a checkpoint or of a .w file of TDL2048+ (`run.begin_from`)."""

from pathlib import Path

from ntuple.files.stored_network import load_stored
from ntuple.files.tdl import count_file_stages, read_w
from ntuple.files.tdl_network import from_w
from ntuple.learning.config import NTupleConfig
from ntuple.learning.learner import NTupleLearner


def begin_from(learner: NTupleLearner, path: Path, config: NTupleConfig | None) -> None:
    """Replace the new network of a learner by a stored one.

    Args:
        path: folder of a checkpoint, or a .w file of one stage or of all stages of the learner's config.
        config: that the checkpoint was trained with; None for a .w file.

    Raises:
        ValueError: the file cannot be read, or the network does not fit the learner.
    """
    if config is not None:
        network = load_stored(path, config, with_memory=True)
    else:
        file = read_w(path)
        network = from_w(file, NTupleConfig(), learner.config.stages if count_file_stages(file) > 1 else ())
    learner.begin_with(network)
