"""The standard library of trtc, written in .trtspec: `std.standard` is `standard.trtspec`."""
