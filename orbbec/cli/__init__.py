"""What `python -m orbbec` runs, and `orbbec.profile`: doctor, preview, profile, facts about the build."""
