"""Expectimax search over n-tuple values or over the heuristic evaluation.

`search` has the rules, the values of the leaves, the settings and the memory of one thread. Values are in points.
"""
