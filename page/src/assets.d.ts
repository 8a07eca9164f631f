// Types of files that the bundler imports although they are not code.

declare module "*.css" {}

declare module "*.wasm" {
  const bytes: Uint8Array;
  export default bytes;
}

declare module "*/worker.js" {
  const source: string;
  export default source;
}
