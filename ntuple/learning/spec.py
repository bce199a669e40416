"""The n-tuple learner, as the registry of launch sees it."""

from ntuple.core.learner_spec import EXPECTIMAX, MCTS, ONE_PLY, TREE, LearnerSpec

SPEC = LearnerSpec(
    config="ntuple:NTupleConfig",
    learner="ntuple:NTupleLearner",
    players={
        ONE_PLY: "ntuple:load_ntuple_player",
        EXPECTIMAX: "ntuple:load_expectimax_player",
        MCTS: "ntuple:load_mcts_player",
        TREE: "muzero2048.players.ntuple_player:load_value_player",  # a name: ntuple imports nothing of muzero2048
    },
    uses_jax=False,
    memory_keys="ntuple.stages or ntuple.network",
    value="ntuple",
    models=("simulator",),
    threads_key="threads",
    start_key="start.kind",
    begin_from="ntuple.learning.learner:begin_from",
    network_files=(".w",),
    diagnose="ntuple.expectimax.tree_counts:tree_of_checkpoint",
)
