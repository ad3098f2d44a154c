// The two pages that the server writes itself: the shell that loads the app, and the one that says why it does not.

const MARK =
  "M21.6 6.3 19 5.4a3.6 3.6 0 0 0-6.9.7L11.6 9 3 3.6c-.5 4.4 1 7.7 4.3 9.6L2 17.4c4.7 2.7 12.6 3 15.7-2.7.9-1.7 1.3-3.6 1.3-5.7z";
const ICON = `data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%23186a6b' d='${MARK}'/%3E%3C/svg%3E`;

/** `base`: where the files of this version are. */
function buildPage(base: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>pombo</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${base}style.css">${head}
</head>
<body>
${body}
</body>
</html>
`;
}

/** Settings that the app needs before anybody is signed in. */
export interface ShellOptions {
  /** Members can have a link to sign in mailed to them. */
  magicLinks: boolean;
}

export function buildShell(base: string, { magicLinks }: ShellOptions): string {
  const script = `\n<script type="module" src="${base}main.js"></script>`;
  return buildPage(
    base,
    script,
    `<div id="app"${magicLinks ? " data-magic-links" : ""}></div>\n<noscript><p>The dashboard needs JavaScript.</p></noscript>`,
  );
}

interface Refusal {
  title: string;
  /** In the order to read. Text, not markup. */
  paragraphs: string[];
  /** A line for a terminal. */
  command?: string | undefined;
  /** Where it works. */
  url?: string | undefined;
}

export function buildRefusal(base: string, { title, paragraphs, command, url }: Refusal): string {
  const text = Bun.escapeHTML;
  const parts = [
    `<h1>${text(title)}</h1>`,
    ...(url === undefined ? [] : [`<p><a class="button primary" href="${text(url)}">${text(url)}</a></p>`]),
    ...paragraphs.map((paragraph) => `<p>${text(paragraph)}</p>`),
    ...(command === undefined ? [] : [`<pre class="code"><code>${text(command)}</code></pre>`]),
  ];
  return buildPage(base, "", `<main class="entrance"><div class="card">\n${parts.join("\n")}\n</div></main>`);
}
