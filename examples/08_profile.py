"""Where the time goes: by op, by line of this file, and as a trace for chrome://tracing."""

import tempfile
from pathlib import Path

import adjoint
from adjoint.autograd.profiler import profile, record_function


def model(x, weights):
    """A chain of layers."""
    for weight in weights:
        x = (x @ weight).tanh()
    return x


def main():
    """Profile one step, and show it three ways."""
    adjoint.manual_seed(0)
    data = adjoint.randn(64, 128)
    weights = [(adjoint.randn(128, 128) / 11).requires_grad_() for _ in range(4)]

    with profile() as run:
        with record_function("loss"):
            loss = model(data, weights).square().mean()
        loss.backward()

    print(run.key_averages().table(sort_by="self_cpu_time_total", row_limit=6))
    print(run.key_averages(by="line").table(sort_by="cpu_time_total"))

    rows = {row.key: row for row in run.key_averages()}
    assert rows["tanh"].count == rows["TanhBackward0"].count == 4
    lines = run.key_averages(by="line")
    layer = next(row for row in lines if row.key.endswith(" model") and row.count > 4)
    assert layer.forward_time > 0
    assert layer.backward_time > 0

    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        run.export_chrome_trace(trace)
        print(f"a trace of {len(run.function_events)} events takes {trace.stat().st_size} bytes")


if __name__ == "__main__":
    main()
