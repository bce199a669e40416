"""Expectimax search over n-tuple values or over the heuristic evaluation."""
