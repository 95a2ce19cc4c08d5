#!/usr/bin/env python3
"""Everything one does with Headroom starts here: setup, up, demo, stop, test, and every Django command.

Works with a bare Python: it makes .venv, installs the locked packages and starts itself again there.
"""

import os
import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 14):  # before any import that an older Python could not read
    sys.exit(
        "Headroom needs Python 3.11, 3.12, 3.13 or 3.14; this is %d.%d (%s). "
        "Start it with one of those, for example: python3.11 manage.py up"
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )
if os.name != "posix":
    sys.exit("Headroom runs on Linux and macOS. On Windows, run it inside WSL (wsl --install).")


def main():
    from config import bootstrap  # here, not at the top: the two sentences above must come first

    bootstrap.enter_environment(sys.argv)

    from config import commands  # needs the packages that bootstrap has just installed

    sys.exit(commands.run(sys.argv))


if __name__ == "__main__":
    main()
