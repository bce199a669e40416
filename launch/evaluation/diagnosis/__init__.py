"""What is wrong with a trained network: errors of its model by depth, values against returns."""
