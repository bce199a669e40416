"""The n-tuple learner: learner.py names the parts."""
