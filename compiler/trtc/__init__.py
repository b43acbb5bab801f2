"""trtc: a declarative graph-optimization compiler front-end for NVIDIA TensorRT."""

__version__ = "0.1.0"
