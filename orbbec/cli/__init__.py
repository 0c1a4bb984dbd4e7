"""The commands of `python -m orbbec`, and `orbbec.profile`: doctor, preview, profile, build information."""
