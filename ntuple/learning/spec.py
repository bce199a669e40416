"""The n-tuple learner, as the registry of launch sees it."""

from ntuple.learner_spec import EXPECTIMAX, ONE_PLY, TREE, LearnerSpec

SPEC = LearnerSpec(
    config="ntuple.learning.config:NTupleConfig",
    learner="ntuple.learning.learner:NTupleLearner",
    players={
        ONE_PLY: "ntuple.files.stored_network:load_player",
        EXPECTIMAX: "ntuple.expectimax.player:load_expectimax_player",
        TREE: "muzero2048.players.ntuple_player:load_player",  # a name alone: ntuple imports nothing of muzero2048
    },
    uses_jax=False,
    memory_keys="ntuple.stages or ntuple.network",
    value="ntuple",
    models=("simulator",),
    start_key="start.kind",
    begin_from="ntuple.learning.begin_from:begin_from",
    network_files=(".w",),
)
