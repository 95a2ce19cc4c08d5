"""Messages that were rendered before they were sent cannot be told what they are about; they go with their columns."""

from django.db import migrations


def remove(apps, schema_editor):
    apps.get_model("teams", "OutboxMessage").objects.all().delete()


class Migration(migrations.Migration):

    dependencies = [('teams', '0002_months_say_what_was_accepted')]

    operations = [migrations.RunPython(remove, migrations.RunPython.noop)]
