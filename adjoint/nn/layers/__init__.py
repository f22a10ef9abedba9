"""The layers networks are made of, a file for each family."""
