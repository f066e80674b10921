# SPDX-License-Identifier: GPL-2.0-or-later
"""Command lines of all programs that write documents."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from . import terminal
from .errors import ERROR


class Parser(argparse.ArgumentParser):
    """Wrong arguments are an error, 1; argparse's own 2 is for what was found."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        terminal.say(self.prog, f"{message}; see {self.prog} --help")
        self.exit(ERROR)

    def commands(self) -> Callable[..., argparse.ArgumentParser]:
        """What adds a command: its name, what runs it, what it is, and examples."""
        those = self.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)

        def command(name: str, run: Callable[[argparse.Namespace], int], about: str,
                    examples: str) -> argparse.ArgumentParser:
            made = those.add_parser(
                name, help=about, description=about[0].upper() + about[1:] + ".",
                epilog="examples:\n" + examples,
                formatter_class=argparse.RawDescriptionHelpFormatter)
            made.set_defaults(run_command=run)
            return made

        return command
