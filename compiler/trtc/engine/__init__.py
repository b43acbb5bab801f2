"""From a network to the bytes of an engine: configuration, profiles, build with progress, and the child process.

TensorRT can take its process along when it dies, prints to stderr around its logger, and keeps the first logger it
is given. So everything that touches it runs in a child (`worker`): the parent sees events, a result, or a death.
"""

from trtc.engine.job import BuildEvent, BuildJob, BuildResult, Profile
from trtc.engine.supervisor import Worker

__all__ = ["BuildEvent", "BuildJob", "BuildResult", "Profile", "Worker"]
