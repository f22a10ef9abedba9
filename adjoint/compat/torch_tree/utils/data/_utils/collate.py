"""torch.utils.data._utils.collate: what collate functions of programs read beside adjoint's."""

import re

default_collate_err_msg_format = (
    "default_collate: a batch is made of tensors, arrays, numbers, texts and containers of them, "
    "not of {}"
)
np_str_obj_array_pattern = re.compile("[SaUO]")  # letters of NumPy's types that hold no numbers
