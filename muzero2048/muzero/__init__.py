"""The MuZero learner: configuration, self-play, targets, losses, train step, player."""
