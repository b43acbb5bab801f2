"""Fetch the text detector of PP-OCRv4, a trained model, out of the package that ships it.

The model is by the PaddleOCR authors, the ONNX file by RapidOCR; both are under the Apache License 2.0. The wheel is
pinned by version and hash, and nothing of it is installed or run.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "rapidocr-onnxruntime==1.4.4"
WHEEL_SHA256 = "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf"
MEMBER = "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"
MODEL_SHA256 = "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9"


def get_model(path: Path) -> None:
    """Write the model to `path`, 4.7 MB. Raises CalledProcessError when pip fails, ValueError for a wrong hash."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        check(wheel.read_bytes(), WHEEL_SHA256, wheel.name)
        with zipfile.ZipFile(wheel) as archive:
            model = archive.read(MEMBER)
    check(model, MODEL_SHA256, MEMBER)
    part = path.with_suffix(".part")
    part.write_bytes(model)
    part.replace(path)


def check(content: bytes, sha256: str, name: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(f"{name}: sha256 is {found}, expected {sha256}")


if __name__ == "__main__":
    get_model(Path(__file__).with_name("detector.onnx"))
