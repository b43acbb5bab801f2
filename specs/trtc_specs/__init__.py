"""Ready pipelines of trtc, written in .trtspec."""
