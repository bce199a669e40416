"""The games of the family, one file each, and what all of them share: definition.py."""
