"""Commands that train, evaluate and compare the learners."""
