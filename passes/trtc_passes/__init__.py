"""The optimization passes of trtc, one module each."""
