"""An answer is written once per price change and read whole: compressing it costs twice what writing it does."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("estimates", "0001_initial")]

    operations = [
        migrations.RunSQL(
            sql="ALTER TABLE estimates_estimate ALTER COLUMN answer SET STORAGE EXTERNAL",
            reverse_sql="ALTER TABLE estimates_estimate ALTER COLUMN answer SET STORAGE EXTENDED",
        )
    ]
