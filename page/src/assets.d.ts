// What the bundler makes of files that are no code.

declare module "*.css" {}

declare module "*.wasm" {
  const bytes: Uint8Array;
  export default bytes;
}

declare module "*/worker.js" {
  const source: string;
  export default source;
}
