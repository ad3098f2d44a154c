// Files of the page, imported as text. (Bun's own types have *.html, as something else.)
declare module "*.css" {
  const text: string;
  export default text;
}
declare module "*.js" {
  const text: string;
  export default text;
}
