"""The MuZero learner: configuration, self-play, targets, losses and train step."""
