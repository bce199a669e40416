"""Records by hand, and what messages about them have in common."""

# Guei 2023, sec. 5.5.1: "the first 10 moves in an episode of 2048".
EXAMPLE = "11D1 (1) #L (2) 61 (3) #D [4] (3) 11 (2) #D (3) B1 (3) #L [4] (3) 61"
PLACED = "2048 places 2 (1), 4 (2)"
