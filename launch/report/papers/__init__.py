"""Result tables of papers: their files, training and evaluating their rows, and the comparison with the paper."""
