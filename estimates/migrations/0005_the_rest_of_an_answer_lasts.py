from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("estimates", "0004_prices_move_a_part_of_an_answer")]

    operations = [
        migrations.AddField("estimate", "lasting", models.JSONField(default=dict)),
        migrations.AddField(
            "estimate", "lasting_ground", models.CharField(blank=True, default="", max_length=80), preserve_default=False
        ),
    ]
