"""Evaluation: games, searches, records, regret and exact solutions."""
