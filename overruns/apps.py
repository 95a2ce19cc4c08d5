from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OverrunsConfig(AppConfig):
    name = "overruns"
    verbose_name = _("Overruns")
