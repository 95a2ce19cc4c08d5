from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("estimates", "0003_baselines")]

    operations = [migrations.RenameField("estimate", "answer", "priced")]
