import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from sessions_app.names import looks_of


def note_looks(apps, schema_editor):
    accounts = apps.get_model(settings.AUTH_USER_MODEL).objects.values_list("pk", "username")
    name_look = apps.get_model("sessions_app", "NameLook")
    name_look.objects.bulk_create(
        (
            name_look(user_id=account, look=look)
            for account, username in accounts.iterator()
            for look in looks_of(username)
        ),
        batch_size=1000,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0002_first_flags"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="NameLook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("look", models.CharField(db_index=True, max_length=450)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.RunPython(note_looks, migrations.RunPython.noop),
    ]
