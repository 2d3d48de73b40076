"""`soul completion`: what lets a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print what lets a shell complete commands and options.

    \b
    bash: soul completion bash >~/.soul-completion, and `source ~/.soul-completion` in ~/.bashrc
    zsh:  the same with zsh and ~/.zshrc
    fish: soul completion fish >~/.config/fish/completions/soul.fish
    """
    complete = get_completion_class(shell)
    assert complete is not None  # click has all three
    click.echo(complete(context.find_root().command, {}, "soul", "_SOUL_COMPLETE").source())
