"""Search of hyperparameters: `muzero2048 tune`.

- Space: the words key=LOW..HIGH, key=LOW..HIGH:log and key=a,b of the command (space.py).
- Trial: one run, with one value for each of these keys.
- Study: all trials of a group, in a file of Optuna (study.py). The same command goes on with it.
- Engine: what trains the trials, this machine or SLURM (engines.py).
"""
