"""What a training needs of the machine: processes, signals, memory, profile, the record of the environment."""
