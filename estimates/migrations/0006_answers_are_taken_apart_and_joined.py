"""Answers kept so far stay whole until they are computed again; on the way back every answer is made whole."""

from django.db import migrations

APART = "ALTER TABLE estimates_estimate ALTER COLUMN lasting SET STORAGE EXTERNAL"
JOINED = """
ALTER TABLE estimates_estimate DISABLE TRIGGER USER;
UPDATE estimates_estimate
SET priced = priced || lasting
        || jsonb_build_object('quantities', (lasting -> 'quantities') || (priced -> 'quantities')),
    lasting = '{}', lasting_ground = ''
WHERE lasting <> '{}';
ALTER TABLE estimates_estimate ENABLE TRIGGER USER;
"""


class Migration(migrations.Migration):
    dependencies = [("estimates", "0005_the_rest_of_an_answer_lasts")]

    operations = [migrations.RunSQL(APART, JOINED)]
