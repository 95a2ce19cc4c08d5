"""The Celery application. Tasks are found in every installed app."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import worker_process_init

from config.collector import settle

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("headroom")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_process_init.connect
def settle_worker(**_facts: Any) -> None:
    settle()
