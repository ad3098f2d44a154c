// The html of an email as a page that is looked at: what a browser may do with it, and what it would load and lead to.

import { decodeHTML } from "entities";

/**
 * `sandbox`: no scripts, forms, pop-ups or plug-ins and an origin of its own, even when the address is opened outside
 * of our frame. Remote images stay unloaded: they would tell their sender that, when and where somebody looked.
 */
export const MESSAGE_POLICY = [
  "sandbox",
  "default-src 'none'",
  "img-src data:",
  "font-src data:",
  "style-src 'unsafe-inline'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join("; ");

const MAX_LINKS = 100;
const MAX_LINK_CHARACTERS = 4_096;
const MAX_TEXT_CHARACTERS = 200;
/** Hosts that are told apart. */
const MAX_HOSTS = 20;
/** Characters of data: that inline images may take: an html may show the same one ten thousand times. */
const MAX_IMAGE_CHARACTERS = 8_000_000;

export interface Link {
  /** As its reader sees it; empty for an image without a text. */
  text: string;
  url: string;
  /** Null: it leads to no host, as mailto: does. */
  host: string | null;
}

export interface MessagePage {
  html: string;
  /** http, https, mailto and tel links in order; those beyond the first hundred are only counted. */
  links: Link[];
  moreLinks: number;
  /** What would be loaded from elsewhere and is not, by its host. */
  remote: { host: string; count: number }[];
}

/**
 * Takes away what would speak to the network though no policy covers it: hints as preconnect and dns-prefetch, refreshes,
 * and where links lead, whose hosts a browser may look up. The policy remains the fence; this reaches what it does not, in html
 * that browsers agree how to read. `images`: data: of inline images by their content id.
 */
export async function buildMessagePage(html: string, images: ReadonlyMap<string, string>): Promise<MessagePage> {
  const links: Link[] = [];
  let linkCount = 0;
  let open: Link | null = null;
  const remote = new Map<string, number>();
  let style = "";
  let room = MAX_IMAGE_CHARACTERS;
  const note = (written: string) => {
    const host = findRemoteHost(written);
    if (host !== null && (remote.has(host) || remote.size < MAX_HOSTS)) remote.set(host, (remote.get(host) ?? 0) + 1);
  };
  const noteStyle = (css: string) => {
    for (const [, double, single, bare, imported] of css.matchAll(IN_STYLE))
      note(double ?? single ?? bare ?? imported ?? "");
  };
  const rewriter = new HTMLRewriter()
    .on("link, base, meta[http-equiv]", { element: (element) => void element.remove() })
    .on("a[href], area[href]", {
      element(element) {
        open = parseLink(element.getAttribute("href"));
        element.removeAttribute("href");
        if (open === null) return;
        linkCount += 1;
        if (links.length < MAX_LINKS) links.push(open);
      },
      text({ text }) {
        if (open !== null && open.text.length < MAX_TEXT_CHARACTERS) open.text += text;
      },
    })
    .on("[src]:not(script)", {
      element(element) {
        const source = decodeHTML(element.getAttribute("src") ?? "").trim();
        note(source);
        const image = /^cid:/i.test(source) ? images.get(decodeCid(source.slice(4))) : undefined;
        if (image === undefined || image.length > room) return;
        room -= image.length;
        element.setAttribute("src", image);
      },
    })
    .on("[srcset]", {
      element: (element) => {
        for (const each of (element.getAttribute("srcset") ?? "").split(/,\s/, MAX_HOSTS)) note(each);
      },
    })
    .on("[style]", { element: (element) => noteStyle(decodeHTML(element.getAttribute("style") ?? "")) })
    .on("style", {
      text({ text, lastInTextNode }) {
        style += text;
        if (!lastInTextNode) return;
        noteStyle(style);
        style = "";
      },
    })
    .onDocument({
      // Without `href` a link has no look of its own; the weight of this is nothing, so that the message's own rules win.
      end: (end) =>
        void end.append("<style>:where(a){color:#0645ad;text-decoration:underline}</style>", { html: true }),
    });
  for (const [selector, attribute] of LOADING)
    rewriter.on(selector, { element: (element) => note(element.getAttribute(attribute) ?? "") });
  const page = await rewriter.transform(new Response(html)).text();
  for (const link of links) link.text = cutText(link.text);
  return {
    html: page,
    links,
    moreLinks: linkCount - links.length,
    remote: Array.from(remote, ([host, count]) => ({ host, count })),
  };
}

/** Beside `src`: attributes whose address is loaded when the element is shown. */
const LOADING = [
  ["[background]", "background"],
  ["video[poster]", "poster"],
  ["object[data]", "data"],
  ["image[href]", "href"],
] as const;

/** Addresses in CSS. */
const IN_STYLE = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^\s"')]+))|@import\s+["']([^"']+)/gi;

function findRemoteHost(written: string): string | null {
  const address = decodeHTML(written).trim().split(/\s/, 1)[0] ?? "";
  if (!/^(?:https?:)?\/\//i.test(address) || address.length > MAX_LINK_CHARACTERS) return null;
  return URL.parse(address, "https://x.invalid")?.host ?? null;
}

function parseLink(href: string | null): Link | null {
  const url = URL.parse(decodeHTML(href ?? "").trim());
  if (url === null || !/^(?:https?|mailto|tel):$/.test(url.protocol)) return null;
  if (url.href.length > MAX_LINK_CHARACTERS) return null;
  return { text: "", url: url.href, host: url.host === "" ? null : url.host };
}

function decodeCid(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

function cutText(raw: string): string {
  return decodeHTML(raw).replaceAll(/\s+/g, " ").trim().slice(0, MAX_TEXT_CHARACTERS).toWellFormed();
}
