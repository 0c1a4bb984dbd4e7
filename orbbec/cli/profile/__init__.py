"""Where the time of a chain goes, and how many bytes it moves, beside a copy of as many."""

from orbbec.cli.profile.profile import Cost, Profile, profile

__all__ = ["Cost", "Profile", "profile"]
