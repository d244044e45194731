const form = document.forms.namedItem("nearby");
if (form) form.locate.onclick = () =>
  navigator.geolocation.getCurrentPosition(({ coords }) => {
    form.lat.value = coords.latitude.toFixed(2);
    form.lon.value = coords.longitude.toFixed(2);
    form.submit();
  });
