"""Small language models from their configurations: training, and a continuation."""

import torch
from beginnings import filled, name_torchvision_operators, report

operators = name_torchvision_operators()

from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

tokens = torch.arange(24).reshape(2, 12) % 17


def trained(model, **inputs):
    """The losses of three steps."""
    filled(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = model(**inputs).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss)
    return losses


gpt = GPT2LMHeadModel(
    GPT2Config(
        vocab_size=17,
        n_positions=32,
        n_embd=16,
        n_layer=2,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
)
bert = BertForSequenceClassification(
    BertConfig(
        vocab_size=17,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
)
llama = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=17,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
    )
)
results = {
    "gpt": trained(gpt, input_ids=tokens, labels=tokens),
    "bert": trained(bert, input_ids=tokens, labels=torch.tensor([0, 1])),
    "llama": trained(llama, input_ids=tokens, labels=tokens),
}
gpt.eval()
results["continuation"] = gpt.generate(
    tokens[:1, :4],
    attention_mask=torch.ones(1, 4, dtype=torch.long),
    max_new_tokens=6,
    do_sample=False,
    pad_token_id=0,
)
report(**results)
