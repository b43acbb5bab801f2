"""An encoder of BERT, end to end: make the model, compile it, print what the rules found and the proof.

`--layers 2 --width 128` is a small one.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import make_model
import onnx

import trtc
from trtc.cli.progress import Progress

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description="Make and compile an encoder of BERT.")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768, help="a multiple of 64")
    options = parser.parse_args()
    model = HERE / "bert_encoder.onnx"
    wanted = f"layers={options.layers} width={options.width}"
    if not model.exists() or onnx.load(model, load_external_data=False).doc_string != wanted:
        made = make_model.make_model(options.layers, options.width)
        made.doc_string = wanted
        onnx.save(made, model)
    try:
        with Progress(enabled=True) as progress:
            result = trtc.compile(
                HERE / "bert_encoder.trtspec",
                set={"layers": options.layers, "width": options.width},
                progress=progress,
            )
    except trtc.DiagnosticError as error:
        print(error, file=sys.stderr)
        return error.status
    for rule in json.loads(result.manifest.read_text(encoding="utf-8"))["rules"]:
        declined = rule.get("declined")
        print(f"{rule['rule']}: {rule['applied']} times" + (f"; declined: {declined[0]['reason']}" if declined else ""))
    print(result.table)
    print(f"engine: {result.engine} ({result.engine.stat().st_size / 1e6:.0f} MB) for {result.target} {result.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
