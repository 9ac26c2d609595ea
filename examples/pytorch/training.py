"""Trains a small network twice, in eager and compiled, from the same weights: the losses agree.

    scripts/run-example.sh --torch examples/pytorch/training.py
"""

import copy

import torch
from torch import nn

import tilewright.torch  # noqa: F401 (makes the back end known)


def train(step, model, data, labels):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(step(data), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    torch.manual_seed(0)
    data = torch.randn(256, 16)
    labels = (data[:, 0] * data[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 2))
    other = copy.deepcopy(model)
    eager = train(model, model, data, labels)
    compiled = train(torch.compile(other, backend="tilewright"), other, data, labels)
    print(f"loss: first {compiled[0]:.4f}, last {compiled[-1]:.4f} (eager {eager[0]:.4f}, {eager[-1]:.4f})")
    assert max(abs(a - b) for a, b in zip(eager, compiled)) < 1e-4, "training differs from eager"
