"""Expectimax search over n-tuple values or over the heuristic evaluation.

`network` and `heuristic` value the leaves; one of them is None. `search` has the settings. `memory` belongs to one
thread and has served no other network or heuristic. Values are in points.
"""
