"""Asks of before hours by month were kept: all hours of the frozen estimate, as the money asked for computing falls."""

from django.db import migrations

FILL = """
    INSERT INTO budgets_askhours (version_id, accelerator, month, hours, rented, reserved)
    SELECT version, accelerator, month, hours,
           CASE WHEN mode IN ('rent', 'on_demand', 'spot') THEN hours ELSE 0 END,
           CASE WHEN mode = 'committed' THEN hours ELSE 0 END
    FROM (
        SELECT version.id AS version, asked.month,
               coalesce(estimate.plan #>> '{compute,accelerator}', '') AS accelerator,
               coalesce(estimate.plan #>> '{compute,mode}', 'rent') AS mode,
               coalesce(estimate.lasting #>> '{quantities,total_accelerator_hours,mean}',
                        estimate.priced #>> '{quantities,total_accelerator_hours,mean}')::numeric
                   * asked.amount / sum(asked.amount) OVER (PARTITION BY version.id) AS hours
        FROM budgets_proposalversion version
        JOIN estimates_estimate estimate ON estimate.id = version.estimate_id
        JOIN budgets_askline asked ON asked.version_id = version.id AND asked.category = 'compute' AND asked.amount > 0
    ) AS spread
    WHERE hours > 0
    ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [
        ("budgets", "0012_asks_have_hours_by_month"),
        ("estimates", "0007_accelerators_have_lead_times"),
    ]

    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
