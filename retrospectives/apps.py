from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RetrospectivesConfig(AppConfig):
    name = "retrospectives"
    verbose_name = _("Retrospectives")
