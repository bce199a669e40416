"""`serve --export`: one HTML file with a board, an n-tuple network and its player, which needs no server."""
