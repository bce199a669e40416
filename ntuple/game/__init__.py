"""The game on bitboards: rules, games, random numbers, rollouts, and the options of the compiler."""
