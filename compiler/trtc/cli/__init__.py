"""The command line."""

from trtc.cli.app import main

__all__ = ["main"]
