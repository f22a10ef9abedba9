"""torchani: energies of molecules from networks over their surroundings, and forces."""

import torch
from beginnings import filled, normal, report
from torchani.arch import simple_ani

model = filled(
    simple_ani(
        ("H", "C", "O"), "wb97x-631gd", radial_shifts=4, angular_shifts=2, strategy="pyaev"
    )
)
species = torch.tensor([[6, 1, 1, 8], [8, 1, 1, -1]])
base = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [-0.5, 0.9, 0.1], [0.1, -0.6, 1.0]])
coordinates = (base + normal(2, 4, 3, scale=0.1)).requires_grad_()
energies = model((species, coordinates)).energies
(forces,) = torch.autograd.grad(-energies.sum(), coordinates, create_graph=True)
forces.square().sum().backward()
surroundings = model.aev_computer(model.species_converter(species), coordinates)
report(
    energies=energies,
    forces=forces,
    second=coordinates.grad,
    surroundings=surroundings.mean(-1),
    parameters=[each.grad.norm() for each in model.parameters() if each.grad is not None],
)
