"""How people write: what they are asked before they post, and which keys do something."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0010_leaving'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='asks_for_alt',
            field=models.BooleanField(db_default=True, default=True, verbose_name='is asked for missing descriptions of pictures'),
        ),
        migrations.AddField(
            model_name='user',
            name='keys',
            field=models.CharField(choices=[('on', 'On'), ('mastodon', 'On, with b to repost and Shift+b to bookmark, as in Mastodon'), ('off', 'Off')], db_default='on', default='on', max_length=8, verbose_name='keyboard shortcuts'),
        ),
    ]
