"""Single ops for what networks do most: linear, softmax, losses."""
