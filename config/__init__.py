"""The frame: settings, urls, celery, bootstrap, embedded servers. Nothing imports it."""
