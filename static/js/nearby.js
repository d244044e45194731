const form = document.forms.namedItem("nearby");
const button = form?.locate;
if (form) button.onclick = () =>
  navigator.geolocation.getCurrentPosition(({ coords }) => {
    // To about a kilometre: nobody needs to know more, not even this server's log.
    const step = 0.01 / Math.cos(coords.latitude * Math.PI / 180);
    form.lat.value = coords.latitude.toFixed(2);
    form.lon.value = (Math.round(coords.longitude / step) * step).toFixed(5);
    form.submit();
  }, () => {
    button.textContent = button.dataset.denied;
    button.disabled = true;
  });
