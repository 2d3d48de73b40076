/** The user and the view in the page's URL: `?as=U0ADA#/C0GENERAL/1700000000.000100`. */

/** The id of the user in the URL, or empty. */
export function personInAddress() {
  return new URLSearchParams(location.search).get("as") ?? "";
}

/** The URL of the page as another user. @param {string} person */
export function addressAs(person) {
  return `?${new URLSearchParams({ as: person })}`;
}

/** @returns {{channel: string, thread: string, home: boolean}} the view in the URL */
export function viewInAddress() {
  const [channel = "", rest = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return { channel, thread: rest === "home" ? "" : rest, home: rest === "home" };
}

/** Put a view into the URL; the page then gets `hashchange`. */
export function goTo(channel, rest = "") {
  location.hash = `/${[channel, rest].filter(Boolean).map(encodeURIComponent).join("/")}`;
}

/** Put the user into the URL without loading the page again. @param {string} person */
export function nameInAddress(person) {
  history.replaceState(null, "", `${addressAs(person)}${location.hash}`);
}
