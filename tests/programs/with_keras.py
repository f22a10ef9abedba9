"""keras on its backend for PyTorch: three networks, training, a step of the program's own."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from beginnings import report
from keras import layers, ops

rng = np.random.default_rng(0)


def drawn(*shape):
    """Numbers that do not depend on a library."""
    return rng.normal(size=shape).astype(np.float32)


def with_weights(model):
    """The model with such numbers for weights."""
    model.set_weights([drawn(*weight.shape) * 0.3 for weight in model.get_weights()])
    return model


class Stepping(keras.Model):
    """A model that makes the steps of its training."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        self.zero_grad()
        loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        loss.backward()
        gradients = [variable.value.grad for variable in self.trainable_weights]
        with torch.no_grad():
            self.optimizer.apply(gradients, self.trainable_weights)
        return {"loss": loss}


results = {}
x, y = drawn(32, 8), rng.integers(0, 3, 32)
dense = [layers.Dense(16, activation="relu"), layers.LayerNormalization(), layers.Dense(3)]
model = with_weights(keras.Sequential([keras.Input((8,)), *dense]))
model.compile(
    optimizer=keras.optimizers.Adam(1e-2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
results["history"] = model.fit(x, y, batch_size=8, epochs=2, verbose=0, shuffle=False).history
results["evaluated"] = model.evaluate(x, y, verbose=0)

image = keras.Input((8, 8, 2))
inner = layers.Conv2D(4, 3, padding="same", activation="gelu")(image)
inner = layers.GlobalAveragePooling2D()(layers.SeparableConv2D(4, 3)(inner))
model = with_weights(keras.Model(image, layers.Dense(1)(inner)))
results["images"] = model.predict(drawn(2, 8, 8, 2), verbose=0).tolist()

words = keras.Input((5,))
inner = layers.Embedding(10, 8)(words)
inner = layers.Bidirectional(layers.GRU(3))(layers.MultiHeadAttention(2, 4)(inner, inner))
model = with_weights(keras.Model(words, inner))
results["words"] = model.predict(rng.integers(0, 10, (2, 5)), verbose=0).tolist()

stepping = Stepping()
stepping(x[:1])
with_weights(stepping).compile(optimizer="sgd", loss="mse")
results["stepping"] = stepping.fit(x, x[:, :2], epochs=2, verbose=0, shuffle=False).history
results["ops"] = [
    ops.segment_sum(x[:4], np.array([0, 0, 1, 2])),
    ops.scatter(np.array([[1], [3]]), x[:2], (5, 8)),
    ops.image.resize(drawn(1, 4, 4, 1), (6, 6)),
]
report(**results)
