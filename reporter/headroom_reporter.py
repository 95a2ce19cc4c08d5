"""Report the metrics of a training run to Headroom. One file, standard library only; copy it beside your code.

    from headroom_reporter import Reporter

    job = os.environ.get("SLURM_JOB_ID", "")
    reporter = Reporter("https://HOST", TOKEN, run="base-7b-01", project="base-7b", job=job)
    for step, batch in enumerate(batches):
        ...
        reporter.log(step, loss=loss, tokens_per_second=rate, mfu=mfu)
    reporter.finish()

It never breaks training: `log` only puts values into a buffer, a thread of its own sends them, what cannot be sent is
tried again and in the end dropped, and no error leaves this file. Sending the same values twice changes nothing.
"""

from __future__ import annotations

import atexit
import json
import logging
import math
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from datetime import datetime, timezone

log = logging.getLogger("headroom")

MOST_KEPT = 100_000
"""Points that wait at most; the oldest are dropped first."""
MOST_SENT = 5_000
"""Values in one request; a full buffer is sent at once."""
UNUSABLE = (400, 413, 422)
"""Answers that will be the same next time: what was sent is dropped."""
RETRY_SECONDS = (1, 5, 15, 60)


class Reporter:
    """Buffers the values of one run and sends them every few seconds."""

    def __init__(
        self, address, token, run, *, project="", experiment="", reference="", job="", every_seconds=10.0, timeout=10.0
    ):
        self._runs = address.rstrip("/") + "/api/v1/runs/"
        self._token, self._run = token, run
        self._opening = {
            "slug": run, "project": project, "experiment": experiment, "reference": reference, "job": str(job),
        }  # fmt: skip
        self._timeout, self._every = timeout, every_seconds
        self._waiting: deque[dict] = deque(maxlen=MOST_KEPT)
        self._wake, self._ended = threading.Event(), threading.Event()
        self._opened = self._gave_up = False
        self._thread = threading.Thread(target=self._work, name="headroom-reporter", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def log(self, step, **values):
        """Keep the values of a step; returns at once."""
        try:
            point = {
                "step": int(step),
                "at": datetime.now(timezone.utc).isoformat(),
                "values": {name: _number(value) for name, value in values.items()},
            }
            self._waiting.append(point)
            if len(self._waiting) >= MOST_SENT:
                self._wake.set()
        except Exception as error:
            log.warning("headroom: step %r was not kept: %s", step, error)

    def finish(self, state="finished", *, seconds=10.0):
        """Send what waits, and say how the run ended: finished, failed or stopped."""
        self.close(seconds=seconds)
        try:
            if self._opened and not self._gave_up:
                self._post(f"{self._run}/state/", {"state": state})
        except Exception as error:
            log.warning("headroom: the end of the run was not reported: %s", error)

    def close(self, *, seconds=5.0):
        """Send what waits, for so many seconds at most."""
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    def _work(self):
        failures = 0
        while not self._gave_up:
            self._wake.wait(self._every if not failures else RETRY_SECONDS[min(failures, len(RETRY_SECONDS)) - 1])
            self._wake.clear()
            try:
                self._send_all()
                failures = 0
            except Exception as error:
                failures += 1
                log.warning("headroom: not reported, tried again later: %s", error)
                if self._ended.is_set():
                    if failures > 3:
                        return
                    time.sleep(0.5)
                    self._wake.set()
                    continue
            if self._ended.is_set() and not self._waiting:
                return

    def _send_all(self):
        if not self._opened:
            self._open()
        while self._waiting:
            batch = self._batch()
            try:
                self._post(f"{self._run}/metrics/", {"points": batch})
            except urllib.error.HTTPError as error:
                if error.code not in UNUSABLE:
                    raise
                log.warning(
                    "headroom: %d points were refused: %s", len(batch), error.read(500).decode("utf-8", "replace")
                )
            for point in batch:
                if self._waiting and self._waiting[0] is point:
                    self._waiting.popleft()

    def _batch(self):
        """The oldest points, as many as one request holds."""
        batch: list[dict] = []
        values = 0
        for index in range(len(self._waiting)):
            point = self._waiting[index]
            values += len(point["values"])
            if batch and values > MOST_SENT:
                break
            batch.append(point)
        return batch

    def _open(self):
        """Open the run; one that is there already goes on."""
        try:
            self._post("", self._opening)
        except urllib.error.HTTPError as error:
            if error.code != 409:
                if 400 <= error.code < 500 and error.code not in (408, 429):
                    self._gave_up = True
                    log.warning(
                        "headroom: reporting is off: %s %s", error.code, error.read(500).decode("utf-8", "replace")
                    )
                raise
        self._opened = True

    def _post(self, path, body):
        request = urllib.request.Request(
            self._runs + path,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=self._timeout) as answer:
            answer.read()


def _number(value):
    """A number as JSON has it; what is none (NaN, infinity) is null. Tensors of one element are numbers too."""
    number = float(value.item() if hasattr(value, "item") else value)
    return number if math.isfinite(number) else None
