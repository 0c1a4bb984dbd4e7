"""The commands of `python -m orbbec`, and the function `orbbec.profile`.

Begin with orbbec/__main__.py, which lists the commands. `doctor` checks the installation, `preview` draws
contact sheets of a pipeline, `profile` times its passes. pack.py writes shards and indices of data sets,
bench_data.py times a Loader on a folder.
"""
