"""The game on bitboards: rules, episodes, random numbers, rollouts, and the options of the compiler."""
