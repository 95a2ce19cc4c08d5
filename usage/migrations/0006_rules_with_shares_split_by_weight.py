from django.db import migrations


def mark(apps, editor):
    apps.get_model("usage", "AllocationRule").objects.filter(split="", shares__isnull=False).update(split="weight")


class Migration(migrations.Migration):
    dependencies = [("usage", "0005_reassignments_and_splits")]

    operations = [migrations.RunPython(mark, migrations.RunPython.noop)]
