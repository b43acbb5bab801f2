"""Rewriting: rules compiled, matched, replaced, merged, explained and refuted. Knows no TensorRT."""
