"""Find the text in a picture with the network that TensorRT was given.

The detector is compiled; then the network as TensorRT holds it, read back into ONNX, runs in ONNX Runtime on
`input.png`, and `detected.png` shows the boxes. So the picture shows what the engine computes, on a machine without a
GPU.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import get_model
import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageOps
from regions import boxes

import trtc
from trtc.cli.progress import Progress

HERE = Path(__file__).parent
SIZE = (640, 480)
"""Width and height that `detector.trtspec` freezes."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Find the text in a picture.")
    parser.add_argument("picture", type=Path, nargs="?", default=HERE / "input.png")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "detected.png")
    options = parser.parse_args()
    model = HERE / "detector.onnx"
    if not model.exists():
        get_model.get_model(model)
    picture = ImageOps.pad(Image.open(options.picture).convert("RGB"), SIZE)
    x = pixels_to_input(np.asarray(picture))
    # Verified on the picture itself: on random noise the detector finds nothing, and nothing is easily right.
    np.savez(HERE / "picture.npz", x=x)
    try:
        with Progress(enabled=True) as progress:
            result = trtc.compile(HERE / "detector.trtspec", input=HERE / "picture.npz", progress=progress)
    except trtc.DiagnosticError as error:
        print(error, file=sys.stderr)
        return error.status
    print(result.table)
    assert result.readback is not None
    found = boxes(detect(result.readback, x))
    pen = ImageDraw.Draw(picture)
    for box in found:
        print(f"text at ({box.left}, {box.top})-({box.right}, {box.bottom}), score {box.score:.2f}")
        pen.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=(235, 30, 110), width=3)
    picture.save(options.output)
    print(f"{len(found)} regions of text: {options.output}")
    return 0


def pixels_to_input(pixels: np.ndarray) -> np.ndarray:
    """The input of the detector, float32[1, 3, height, width], for `pixels`, uint8[height, width, 3] in RGB."""
    # The detector was trained on BGR from -1 to 1.
    x = (pixels[:, :, ::-1].astype(np.float32) / 255 - 0.5) / 0.5
    return np.ascontiguousarray(x.transpose(2, 0, 1)[None])


def detect(network: Path, x: np.ndarray) -> np.ndarray:
    """Probability of text, float32[height, width], by the network in ONNX Runtime."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(network, settings, providers=["CPUExecutionProvider"])
    (probability,) = session.run(None, {"x": x})
    return probability[0, 0]


if __name__ == "__main__":
    sys.exit(main())
