"""torch.utils.data._utils: what loaders are made of."""

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds between two looks at workers; adjoint waits on pipes
python_exit_status = False
