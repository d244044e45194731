from django.db import migrations

FLAGS = {
    "nearby": "The page of players near me, and sharing one's place.",
    "wall": "The board in full screen for a projector: ?display=wall.",
}


def create(apps, schema_editor):
    flag = apps.get_model("sessions_app", "Flag")
    for name, description in FLAGS.items():
        flag.objects.get_or_create(name=name, defaults={"description": description})


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0001_flags")]

    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
