"""BERT, end to end: make the model, compile it, print the proof. `--layers 2 --hidden 128` is a small one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import make_model
import onnx

import trtc
from trtc.cli.progress import Progress

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768, help="a multiple of 64")
    parser.add_argument("--vocabulary", type=int, default=make_model.VOCABULARY)
    options = parser.parse_args()
    model = HERE / "bert.onnx"
    wanted = f"layers={options.layers} hidden={options.hidden} vocabulary={options.vocabulary}"
    if not model.exists() or onnx.load(model, load_external_data=False).doc_string != wanted:
        made = make_model.make_model(options.layers, options.hidden, options.vocabulary)
        made.doc_string = wanted
        onnx.save(made, model)
    try:
        with Progress(enabled=True) as progress:
            result = trtc.compile(
                HERE / "bert.trtspec",
                set={"layers": options.layers, "hidden": options.hidden},
                progress=progress,
            )
    except trtc.DiagnosticError as error:
        print(error, file=sys.stderr)
        return error.status
    print(result.table)
    print(f"engine: {result.engine} ({result.engine.stat().st_size / 1e6:.0f} MB) for {result.target} {result.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
