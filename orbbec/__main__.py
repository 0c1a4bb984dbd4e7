"""The command line: `python -m orbbec doctor | preview | profile | pack | index | bench-data`."""

import sys

import typer

from orbbec.cli.bench_command import bench_data_command
from orbbec.cli.doctor.command import doctor_command
from orbbec.cli.errors import run
from orbbec.cli.pack import index_command, pack_command
from orbbec.cli.preview.command import preview_command
from orbbec.cli.profile.command import profile_command

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def commands() -> None:
    """Check the installation, look at and time pipelines, and pack data sets."""


app.command("doctor")(doctor_command)
app.command("preview")(preview_command)
app.command("profile")(profile_command)
app.command("bench-data")(bench_data_command)
app.command("pack")(pack_command)
app.command("index")(index_command)

if __name__ == "__main__":
    sys.exit(run(app))
