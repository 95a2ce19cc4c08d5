import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('teams', '0003_rendered_messages_go')]

    operations = [
        migrations.RemoveField('outboxmessage', 'recipient'),
        migrations.RemoveField('outboxmessage', 'subject'),
        migrations.RemoveField('outboxmessage', 'text'),
        migrations.RemoveField('outboxmessage', 'html'),
        migrations.AddField(
            'outboxmessage',
            'person',
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name='+',
                to=settings.AUTH_USER_MODEL,
                verbose_name='person',
            ),
        ),
        migrations.AddField('outboxmessage', 'kind', models.CharField(max_length=60), preserve_default=False),
        migrations.AddField(
            'outboxmessage',
            'project',
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.project'
            ),
        ),
        migrations.AddField('outboxmessage', 'facts', models.JSONField(default=dict)),
        migrations.AddField('outboxmessage', 'url', models.CharField(blank=True, max_length=300)),
    ]
