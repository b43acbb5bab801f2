"""Canonical operator forms: whatever opset a model was written for, every operator in one form, that of opset 23."""

from trtc.ir.canonical.forms import canonicalize

__all__ = ["canonicalize"]
