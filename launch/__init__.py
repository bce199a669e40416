"""Commands that train, evaluate and compare the learners.

Glossary of the package. Docstrings in it describe arguments only where these words do not.

| word | meaning |
|---|---|
| run | one training; its folder `run_folder` is runs/<run.name>, in the folder `runs_folder` |
| group | runs that differ in the seed alone; also a path such as sweep/alpha=0.1 |
| experiment | the settings of a run (`Experiment`); `experiment.settings` are those of its learner |
| config | a YAML file of an experiment, or a run folder; in evaluations the settings of a search |
| overrides | words "key=value" of the user, which win over the file |
| spec | what a learner declares about itself: ntuple/core/learner_spec.py |
| checkpoint | folder with the state of a training; a snapshot is a checkpoint that is never deleted |
| state | what a checkpoint says of the loop (`State`): progress, hours, the last evaluation |
| processes | those that train one run together; the first one writes its folder |
| player | has fixed weights and a search: it plays games and analyses boards (`Player`) |
| options | what the user asks of a search (`SearchOptions`); `search` is the search that they select (`SearchChoice`) |
| evaluation | games 0 ... games - 1 of one seed; its result is a JSON file in the run folder |
| outputs | optional outputs of an evaluation: records, regret, log of games |
| record | a game as text: its moves and spawns; a log has the records of an evaluation |
| part | the games that one of several processes plays, such as 2/4 |
| board | "HxW", such as 3x4; of a position or an array: its cells. `rows` is H, `columns` is W |
| levels | cells of a board int[H, W]: log2 of the tile, 0 = empty |
| task | one process of a plan: a training, or games of an evaluation |
| cluster | settings of what each task gets (`ClusterConfig`): cores, memory, GPUs, jobs of SLURM |
| queue | tasks of this user that SLURM holds, by the output file of the task |
| place | where something is, for messages: a file, a line, a host |
| row | values of metrics by name, at one point of a run |
| env_steps | moves of training |
| moves | moves of the games in question; in tables of runs those of training |
| on, dry_run | the cluster file, or its name in configs/clusters/; whether the plan is only checked and printed |
| as_json | whether the result is printed as one line of JSON |

Every command raises UserError, of one line, for a mistake of the user: what is wrong, where, and how to correct it. A
function that returns an exit code returns 0 (done), 1 (failed), 2 (mistake of the user) or 75 (stopped by a signal;
the same command goes on).
"""
