// Starts the viewer of the API docs: dark where the system is dark, and authorized where the page names keys.
// Keys that a reader types are not kept beyond the page.

const place = document.getElementById("docs");
const wanted = location.hash.replace(/^#\/?/, "");
const dark = matchMedia("(prefers-color-scheme: dark)");

/** The viewer's own style is dark under this class, which nothing in its bundle sets. */
function followSystem() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

/** Only the sandbox has keys to try requests with, by the names of the document's security schemes. */
async function authorize(viewer) {
  if (!place.dataset.keys) return;
  const answer = await fetch(place.dataset.keys);
  if (!answer.ok) return;
  for (const [name, key] of Object.entries(await answer.json())) viewer.preauthorizeApiKey(name, key);
}

/** Parts of the introduction are led to as `/docs#smtp`, of which the viewer makes `#/smtp`. */
function showPart() {
  const headings = [...document.querySelectorAll(".information-container h3")];
  const toName = ({ textContent }) => textContent.trim().toLowerCase().replaceAll(" ", "-");
  headings.find((heading) => toName(heading) === wanted)?.scrollIntoView();
}

dark.addEventListener("change", followSystem);
followSystem();
const viewer = globalThis.SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  domNode: place,
  deepLinking: true,
  // Folded: from 150 lines on the viewer draws only those on the screen, and the browser's search misses the others.
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete: () => {
    document.getElementById("servers")?.setAttribute("aria-label", "Server");
    showPart();
    return authorize(viewer);
  },
});
