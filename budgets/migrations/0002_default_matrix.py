"""The amount matrix an organisation starts with: a manager decides, above 500,000 a director too."""

from decimal import Decimal

from django.db import migrations


def add_default_matrix(apps, schema_editor):
    rules = apps.get_model("budgets", "ApprovalRule").objects
    rules.get_or_create(step=1, role="manager", above=None, task_type="", category="")
    rules.get_or_create(step=2, role="director", above=Decimal(500_000), task_type="", category="")


class Migration(migrations.Migration):
    dependencies = [("budgets", "0001_initial")]

    operations = [migrations.RunPython(add_default_matrix, migrations.RunPython.noop)]
