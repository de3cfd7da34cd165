// @ts-check
/** Opened by a login link: exchanges the token after the # for a session, and opens the first page. */

const message = /** @type {HTMLElement} */ (document.getElementById("message"));
const token = location.hash.slice(1);
// The token works once; it must not stay in the address bar or the history.
history.replaceState(null, "", location.pathname);

/** Go to the first page. */
function enter() {
  location.replace(document.baseURI);
}

/** @returns {Promise<boolean>} whether a person is already logged in */
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
    if (error?.code === "locked_out") /** @type {HTMLElement} */ (document.querySelector("h1")).textContent = "You are locked out";
    message.textContent = error ? `${error.message} ${error.way_on}` : "The studio could not log you in.";
    return;
  }
  if (await known()) return enter();
  message.textContent = "Open the login link that you received, or ask the owner of the project for a new one.";
}

logIn().catch(() => {
  message.textContent = "The studio cannot be reached. Is it running?";
});
