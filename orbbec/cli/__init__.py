"""The commands of `python -m orbbec`, and the function `orbbec.profile`.

Begin with orbbec/__main__.py, which lists the commands. `doctor` checks the installation, `preview` shows
what a pipeline does to images, `profile` times its passes. pack.py writes shards and indices of data sets,
bench_command.py times a Loader on a folder with bench_data.py. errors.py prints errors as one line.
"""
