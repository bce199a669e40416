"""Pages that show games and what players say of their boards: `muzero2048 serve`."""
