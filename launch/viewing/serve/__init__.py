"""`muzero2048 serve`: the page to play on, its routes, and what a request may be."""
