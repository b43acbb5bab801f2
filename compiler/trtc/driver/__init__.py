"""The one place that ties the rooms together."""

from trtc.driver.compile import CompileResult, compile
from trtc.driver.front import prepare
from trtc.driver.library import libraries, vocabulary
from trtc.driver.spec import load_spec, spec_for

__all__ = ["CompileResult", "compile", "libraries", "load_spec", "prepare", "spec_for", "vocabulary"]
