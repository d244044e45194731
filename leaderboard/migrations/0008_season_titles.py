from zoneinfo import ZoneInfo

from django.db import migrations, models


def generated_names(season):
    """The names that a season may have got by itself, by the period that now replaces them."""
    opens = season.opens.astimezone(ZoneInfo(season.board.time_zone))
    names = {
        f"{opens:%Y-%m-%d}": f"{opens.day} {opens:%B %Y}",
        f"{opens:%G-W%V}": f"Week {opens.isocalendar().week}, {opens:%G}",
        f"{opens:%Y-%m}": f"{opens:%B %Y}",
    }
    second = {
        f"{period} {season.number}": f"{name}, season {season.number}"
        for period, name in names.items()
    }
    return {"": f"Season {season.number}"} | names | second


def blank_generated_names(apps, schema_editor):
    for season in apps.get_model("leaderboard", "Season").objects.select_related("board"):
        periods = {name: period for period, name in generated_names(season).items()}
        if season.name in periods:
            season.name, season.period = "", periods[season.name]
            season.save(update_fields=["name", "period"])


def write_generated_names(apps, schema_editor):
    unnamed = apps.get_model("leaderboard", "Season").objects.filter(name="")
    for season in unnamed.select_related("board"):
        season.name = generated_names(season).get(season.period, f"Season {season.number}")
        season.save(update_fields=["name"])


class Migration(migrations.Migration):
    dependencies = [
        ("leaderboard", "0007_service_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="season",
            name="period",
            field=models.CharField(blank=True, default="", editable=False, max_length=22),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="season",
            name="name",
            field=models.CharField(blank=True, max_length=120, verbose_name="name"),
        ),
        migrations.RunPython(blank_generated_names, write_generated_names),
    ]
