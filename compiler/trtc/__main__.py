"""`python -m trtc` is `trtc`."""

import sys

from trtc.cli import main

sys.exit(main())
