"""The WSGI application that granian serves."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from config import celery  # noqa: F401 - pages send tasks through this application's broker
from config.collector import settle

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
settle()
