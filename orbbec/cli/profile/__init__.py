"""The time and the bytes of each pass of a pipeline, compared with a copy of the minimum of bytes."""

from orbbec.cli.profile.profile import Cost, Profile, profile

__all__ = ["Cost", "Profile", "profile"]
