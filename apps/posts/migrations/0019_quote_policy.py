from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('posts', '0018_drop_drawn_pictures'),
    ]

    operations = [
        migrations.AddField(
            model_name='post',
            name='quote_policy',
            field=models.CharField(choices=[('public', 'Everybody'), ('followers', 'Followers'), ('nobody', 'Nobody')], db_default='public', default='public', max_length=9, verbose_name='who may quote it'),
        ),
    ]
