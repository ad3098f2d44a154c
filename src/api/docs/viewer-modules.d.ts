// Imported `with { type: "file" }`: the path of the file, also inside the executable.
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}

// Imported `with { type: "text" }`.
declare module "*.md" {
  const text: string;
  export default text;
}
