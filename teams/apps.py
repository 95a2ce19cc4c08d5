from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TeamsConfig(AppConfig):
    name = "teams"
    verbose_name = _("Organisation")

    def ready(self) -> None:
        from . import lookups  # noqa: F401 - registers itself with the fields
