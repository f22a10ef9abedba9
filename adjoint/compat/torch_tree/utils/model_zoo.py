"""torch.utils.model_zoo: torch.hub's files of weights, as they were called before."""

from adjoint.compat.torch_tree.hub import load_state_dict_from_url as load_url, tqdm

__all__ = ["load_url", "tqdm"]
