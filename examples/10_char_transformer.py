"""A transformer learns to write Python's own manual, character by character, and then writes."""

import math
import sys
from pathlib import Path
from pydoc_data.topics import topics  # the text behind help("FORMATTING") and the like
from textwrap import fill

from matplotlib.figure import Figure
from tqdm import tqdm

import adjoint
from adjoint import nn, optim
from adjoint.nn import functional as F  # noqa: N812  # as everybody calls it

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
CONTEXT, WIDTH, BATCH = 64, 64, 32
OUTPUT = Path("demo_output")

adjoint.manual_seed(0)
words = " ".join(topics[name] for name in sorted(topics)).split()
text = " ".join(word for word in words if len(word) < 20)  # the lines of tables are longer
alphabet = sorted(set(text))
code = adjoint.tensor([alphabet.index(character) for character in text])
train, test = code.split([len(code) - 20_000, 20_000])


class Writer(nn.Module):
    """Scores for the next character, at every place of a text of up to CONTEXT characters."""

    def __init__(self):
        super().__init__()
        self.character = nn.Embedding(len(alphabet), WIDTH)
        self.place = nn.Embedding(CONTEXT, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.scores = nn.Linear(WIDTH, len(alphabet))

    def forward(self, x):
        length = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        h = self.character(x) + self.place(adjoint.arange(length))
        return self.scores(self.layers(h, mask=mask, is_causal=True))


def bits(model, windows):
    """How many bits a character of these texts takes the model, on average."""
    scores = model(windows[:, :-1])
    return F.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten()) / math.log(2)


model = Writer()
optimizer = optim.AdamW(model.parameters(), lr=3e-3)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
losses = []
for _ in (progress := tqdm(range(STEPS), unit="step")):
    starts = adjoint.randint(len(train) - CONTEXT, (BATCH, 1))
    loss = bits(model, train[starts + adjoint.arange(CONTEXT + 1)])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
    progress.set_postfix(bits=f"{losses[-1]:.2f}")

model.eval()
with adjoint.no_grad():
    learned = bits(model, test.unfold(0, CONTEXT + 1, CONTEXT)).item()
    written = train[:CONTEXT].clone()
    for _ in range(300):
        scores = model(written[None, -CONTEXT:])[0, -1]
        following = adjoint.multinomial((scores / 0.7).softmax(0), 1)
        written = adjoint.cat([written, following])
frequencies = train.bincount() / len(train)
entropy = -(frequencies * frequencies.log2()).nansum().item()

OUTPUT.mkdir(exist_ok=True)
figure = Figure(figsize=(7, 4), layout="constrained")
axes = figure.subplots()
axes.plot(losses, linewidth=0.5, label="of a batch")
axes.axhline(learned, color="tab:orange", label="of text not seen before")
axes.axhline(entropy, color="tab:gray", linestyle=":", label="knowing only how frequent each is")
axes.set(xlabel="step", ylabel="bits a character")
axes.legend()
figure.savefig(OUTPUT / "char_transformer.png", dpi=150)

print(fill("".join(alphabet[i] for i in written.tolist())))
print(f"bits a character by frequency   {entropy:.3f}")
print(f"bits a character as it learned  {learned:.3f}")
print(f"picture {OUTPUT / 'char_transformer.png'}")
