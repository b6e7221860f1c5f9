"""Tell what a rule checks, why it matters and how to comply; list all."""

import click

from kit.errors import UsageError


@click.command()
@click.argument("code", metavar="[GKnnn|NAME]", required=False)
@click.option("--markdown", is_flag=True, help="Print the whole reference.")
def command(code: str | None, markdown: bool) -> int:
    """Explain rule GKnnn, or list all rules."""
    from kit.checker.reference import reference, rule_list, rule_text

    if code is not None and markdown:
        raise UsageError("--markdown prints every rule", hint="leave the code or the option out")
    if markdown:
        print(reference())
    elif code is None:
        print(rule_list())
    else:
        print(rule_text(code))
    return 0
