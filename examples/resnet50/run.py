"""ResNet-50, end to end: make the model, compile it, print the proof."""

from __future__ import annotations

import sys
from pathlib import Path

import make_model
import onnx

import trtc
from trtc.cli.progress import Progress

HERE = Path(__file__).parent


def main() -> int:
    model = HERE / "resnet50.onnx"
    if not model.exists():
        onnx.save(make_model.make_model(), model)
    try:
        with Progress(enabled=True) as progress:
            result = trtc.compile(HERE / "resnet50.trtspec", progress=progress)
    except trtc.DiagnosticError as error:
        print(error, file=sys.stderr)
        return error.status
    print(result.table)
    print(f"engine: {result.engine} ({result.engine.stat().st_size / 1e6:.0f} MB) for {result.target} {result.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
