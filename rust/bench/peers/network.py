"""What the workers with PyTorch share: the numbers of a case and the network."""

import os

import numpy as np
import torch
from torch import nn


def floats(folder, name):
    return torch.from_numpy(np.fromfile(os.path.join(folder, name), dtype=np.float32))


def perceptron(sizes, parameters):
    """Linear layers with ReLU between them; parameters: for each layer weights [outputs, inputs], then biases."""
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    nn.utils.vector_to_parameters(parameters, model.parameters())
    return model
