// Runs in a page (contrast.ts): the contrast of each text with what is below it.

/** Of large words; of others. */
const LEAST = { large: 3, usual: 4.5 };

/** One line for each text on the page whose contrast is too low. */
export function listFaintWords() {
  const parse = (color) => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
    return { rgb: [red, green, blue], alpha };
  };
  const lay = (top, bottom) => bottom.map((value, at) => (top.rgb[at] ?? 0) * top.alpha + value * (1 - top.alpha));
  const getLuminance = (rgb) => {
    const [red = 0, green = 0, blue = 0] = rgb.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const listAncestors = (element) => {
    const chain = [];
    for (let each = element; each !== null; each = each.parentElement) chain.unshift(each);
    return chain;
  };
  const canvas = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  const measure = (element) => {
    const chain = listAncestors(element).map((each) => getComputedStyle(each));
    const ground = chain.reduce((below, style) => lay(parse(style.backgroundColor), below), canvas);
    const opacity = chain.reduce((product, style) => product * Number(style.opacity), 1);
    const ink = parse(getComputedStyle(element).color);
    const shown = lay({ rgb: ink.rgb, alpha: ink.alpha * opacity }, ground);
    const [darker = 0, lighter = 0] = [getLuminance(shown), getLuminance(ground)].toSorted((a, b) => a - b);
    return (lighter + 0.05) / (darker + 0.05);
  };
  const faint = [];
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const text = words.currentNode.textContent?.trim() ?? "";
    const element = words.currentNode.parentElement;
    if (text === "" || element === null || !element.checkVisibility()) continue;
    const { fontSize, fontWeight } = getComputedStyle(element);
    const isLarge = parseFloat(fontSize) >= (Number(fontWeight) >= 700 ? 18.66 : 24);
    const ratio = measure(element);
    if (ratio < (isLarge ? LEAST.large : LEAST.usual))
      faint.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)} "${text.slice(0, 30)}"`);
  }
  return [...new Set(faint)];
}
