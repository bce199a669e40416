"""Records of games: their text, the log of an evaluation, the judge, the regret."""
