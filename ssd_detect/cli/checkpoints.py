"""`ssd-detect checkpoints`: which weights there are, and bringing them here."""

import click

from ssd_detect.cli.checkpoints_convert import convert
from ssd_detect.cli.checkpoints_info import info
from ssd_detect.cli.names import not_empty
from ssd_detect.cli.talk import Talk

_NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...", callback=not_empty)
_QUIET = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")


@click.group()
def checkpoints() -> None:
    """List, fetch and check the weights that ssd-detect knows by name.

    Fetched files lie in the platform's folder for caches; the variable SSD_DETECT_HOME names another one. Lists of
    your own (*.toml) lie in the platform's folder for settings, or in SSD_DETECT_HOME.
    """


@checkpoints.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all that is known of each.")
def list_known(as_json: bool) -> None:
    """Show what is known, and where it is.

    For each: where it is, size, classes, published and measured mean average precision in percent with the metric
    (voc07, voc12, coco, or unstated), and licence.
    """
    from ssd_detect.cli.checkpoints_table import as_json_text, table
    from ssd_detect.model.manifest import manifest, manifest_faults

    entries = list(manifest().values())
    for fault in manifest_faults():
        Talk().failure(fault)
    click.echo(as_json_text(entries) if as_json else "\n".join(table(entries)))


@checkpoints.command()
@_NAMES
@click.option("--from", "given", metavar="URL|FILE", callback=not_empty,
              help="Take it from there instead: a mirror, or a file that you brought. It is checked all the "
                   "same.")  # fmt: skip
@click.option("--timeout", type=float, default=30.0, show_default=True, metavar="SECONDS",
              help="Longest wait for a connection, and for the next bytes.")  # fmt: skip
@click.option("--accept-unverified", is_flag=True,
              help="Fetch what nobody has published a hash of. Its hash is noted, and later fetches are checked by "
                   "it.")  # fmt: skip
@_QUIET
def pull(names: tuple[str, ...], given: str | None, timeout: float, accept_unverified: bool, quiet: bool) -> int:
    """Fetch into the cache, and check.

    Goes on where an interrupted run stopped, where the server allows it. Proxies are taken from HTTP_PROXY,
    HTTPS_PROXY and NO_PROXY.
    """
    from ssd_detect.cli.checkpoints_run import pull_all
    from ssd_detect.store.pull import PullSettings

    if given is not None and len(names) > 1:
        raise click.UsageError("--from is for one checkpoint, give one NAME", click.get_current_context())
    return pull_all(names, PullSettings(given, timeout, accept_unverified), Talk(quiet=quiet))


@checkpoints.command()
@click.argument("given", nargs=-1, metavar="[NAME|PATH]...", callback=not_empty)
@_QUIET
def verify(given: tuple[str, ...], quiet: bool) -> int:
    """Compare with the hashes that are known.

    All that are here, where none is named. Ends with status 4 if one is damaged or missing.
    """
    from ssd_detect.cli.checkpoints_run import verify_all

    return verify_all(given, Talk(quiet=quiet))


@checkpoints.command()
@click.argument("name", callback=not_empty)
def path(name: str) -> None:
    """Print where one lies.

    Ends with status 4 if it is not here, and says how to get it.
    """
    from ssd_detect.cli.checkpoints_run import entry_named, path_of
    from ssd_detect.model.manifest import manifest_faults

    lies_at = path_of(entry_named(name))
    for fault in manifest_faults():
        Talk().failure(fault)
    click.echo(lies_at)


@checkpoints.command()
@_NAMES
@_QUIET
def remove(names: tuple[str, ...], quiet: bool) -> int:
    """Remove fetched ones from the cache.

    What ships and your own files stay.
    """
    from ssd_detect.cli.checkpoints_run import remove_all

    return remove_all(names, Talk(quiet=quiet))


for _verb in (info, convert):
    checkpoints.add_command(_verb)
