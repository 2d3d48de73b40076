/** Who one is and where one looks, in the page's address: `?as=U0ADA#/C0GENERAL/1700000000.000100`. */

/** The person named in the address, or empty. */
export function personInAddress() {
  return new URLSearchParams(location.search).get("as") ?? "";
}

/** The address of the page as somebody else. @param {string} person */
export function addressAs(person) {
  return `?${new URLSearchParams({ as: person })}`;
}

/** @returns {{channel: string, thread: string, home: boolean}} what the address shows */
export function viewInAddress() {
  const [channel = "", rest = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return { channel, thread: rest === "home" ? "" : rest, home: rest === "home" };
}

/** Put a view into the address; everything that shows it hears of that by `hashchange`. */
export function goTo(channel, rest = "") {
  location.hash = `/${[channel, rest].filter(Boolean).map(encodeURIComponent).join("/")}`;
}

/** Name the person in the address without leaving the page. @param {string} person */
export function nameInAddress(person) {
  history.replaceState(null, "", `${addressAs(person)}${location.hash}`);
}
