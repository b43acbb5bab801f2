"""What a compile leaves behind: the manifest, the record of the build, and files that appear whole or not at all."""

from trtc.deploy.files import Outputs, WorkFolder
from trtc.deploy.manifest import manifest, sha256, write_json

__all__ = ["Outputs", "WorkFolder", "manifest", "sha256", "write_json"]
