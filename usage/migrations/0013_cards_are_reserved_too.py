from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("usage", "0012_clusters_hold_cards")]

    operations = [
        migrations.RenameModel("MaintenanceWindow", "CardWindow"),
        migrations.AlterModelOptions(
            name="cardwindow",
            options={
                "ordering": ["-starts_at", "-id"],
                "verbose_name": "maintenance or reservation",
                "verbose_name_plural": "maintenance and reservations",
            },
        ),
        migrations.AddField(
            model_name="cardwindow",
            name="kind",
            field=models.CharField(
                choices=[("maintenance", "maintenance"), ("reservation", "reservation")],
                default="maintenance",
                max_length=12,
                verbose_name="kind",
            ),
        ),
        migrations.RemoveConstraint(model_name="cardwindow", name="maintenance_ends_after_it_starts"),
        migrations.AddConstraint(
            model_name="cardwindow",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends_at__gt", models.F("starts_at"))),
                name="a_window_ends_after_it_starts",
                violation_error_message="It ends after it starts.",
            ),
        ),
    ]
