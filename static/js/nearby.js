const form = document.forms.namedItem("nearby");
const button = form?.locate;
if (form) button.onclick = () =>
  navigator.geolocation.getCurrentPosition(({ coords }) => {
    form.lat.value = coords.latitude.toFixed(2);
    form.lon.value = coords.longitude.toFixed(2);
    form.submit();
  }, () => {
    button.textContent = button.dataset.denied;
    button.disabled = true;
  });
