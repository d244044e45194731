from django.db import migrations, models


def mark_keys_without_maker(apps, schema_editor):
    """A key that nobody answers for works as before: its maker may have been a command. All others
    stop with their maker's account from now on, those of closed accounts at once."""
    keys = apps.get_model("leaderboard", "ApiKey").objects
    keys.filter(created_by__isnull=True).update(is_service=True)


class Migration(migrations.Migration):
    dependencies = [
        ("leaderboard", "0006_first_step"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="is_service",
            field=models.BooleanField(
                default=False,
                help_text="Keeps working when the account that created it is closed or "
                "deleted. Other keys stop.",
                verbose_name="service key",
            ),
        ),
        migrations.RunPython(mark_keys_without_maker, migrations.RunPython.noop),
    ]
