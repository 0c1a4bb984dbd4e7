"""Where the time of a pipeline goes, and how many bytes it moves, compared with a copy of as many."""

from orbbec.cli.profile.profile import Cost, Profile, profile

__all__ = ["Cost", "Profile", "profile"]
