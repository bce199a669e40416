"""Errors of a learned model, measured against the rules and against what the same networks see."""
