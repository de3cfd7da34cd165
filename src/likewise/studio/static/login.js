// @ts-check
/** What a login link opens: trades the token after the # for a session, and goes on to the first page. */

const said = /** @type {HTMLElement} */ (document.getElementById("said"));
const token = location.hash.slice(1);
// The token works once; it should not stay in the address bar or in the history.
history.replaceState(null, "", location.pathname);

/** Go to the first page. */
function enter() {
  location.replace(document.baseURI);
}

/** @returns {Promise<boolean>} whether somebody is logged in already */
async function known() {
  const response = await fetch("api/me");
  return response.ok;
}

async function logIn() {
  if (token) {
    const response = await fetch("api/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Likewise": "1" },
      body: JSON.stringify({ token }),
    });
    if (response.ok) return enter();
    const problem = await response.json().catch(() => null);
    if (await known()) return enter();
    const error = problem?.error;
    said.textContent = error ? `${error.message} ${error.way_on}` : "The studio could not log you in.";
    return;
  }
  if (await known()) return enter();
  said.textContent = "Open the login link that you were given, or ask the owner of the project for a new one.";
}

logIn().catch(() => {
  said.textContent = "The studio cannot be reached. Is it running?";
});
