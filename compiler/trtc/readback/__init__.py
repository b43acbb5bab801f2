"""Read-back: a finished TensorRT network as an ONNX model, layer by layer.

It is written from the semantics of TensorRT's layers and not from `trtc.emit`, so that running the model it gives and
comparing with the original tests the emission on a machine without a GPU.
"""

from trtc.readback.network import IR_VERSION, OPSET, READERS, read

__all__ = ["IR_VERSION", "OPSET", "READERS", "read"]
