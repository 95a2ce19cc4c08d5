"""Stands between the supervisor and one of its programs: when the supervisor dies, however it dies, the program ends.

    python watchdog.py PIPE PROGRAM [ARGUMENT…]

The supervisor alone holds the other end of the pipe; the kernel closes it with the supervisor, even after kill -9.
Run as a file, on the bare standard library, as leader of a session of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

GRACE_SECONDS = 10


def main() -> int:
    """Run the program until it or the supervisor ends; its status is ours."""
    pipe = int(sys.argv[1])
    program = subprocess.Popen(sys.argv[2:])
    signal.signal(signal.SIGTERM, lambda *_: program.terminate())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(pipe, program), daemon=True).start()
    return abs(program.wait())


def _follow(pipe: int, program: subprocess.Popen[bytes]) -> None:
    while os.read(pipe, 1):
        pass
    program.terminate()
    threading.Event().wait(GRACE_SECONDS) if program.poll() is None else None
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
