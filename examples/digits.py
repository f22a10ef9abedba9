"""Scikit-learn's handwritten digits as datasets, for the examples that learn to read them."""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import adjoint
from adjoint.utils.data import TensorDataset


def load():
    """1437 images of 1 x 8 x 8 pixels with their labels to learn from, and 360 to test with."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images / 16, labels, test_size=0.2, random_state=0, stratify=labels)
    x, x_test = (adjoint.tensor(p, dtype=adjoint.float32).reshape(-1, 1, 8, 8) for p in parts[:2])
    y, y_test = (adjoint.tensor(p) for p in parts[2:])
    return TensorDataset(x, y), TensorDataset(x_test, y_test)
