"""Results that are kept in the documentation: the leaderboard, numbers of papers, tables of result files."""
