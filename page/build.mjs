// Bundles the page into one file that works from disk: target/page/site/index.html. Beside it, in
// target/page/test, what its tests run.

import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";

const common = {
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  loader: { ".wasm": "binary", ".html": "text" },
  logLevel: "warning",
};
const out = "../target/page";

await build({ ...common, entryPoints: ["src/worker.ts"], outfile: `${out}/worker.js` });
await build({
  ...common,
  entryPoints: ["src/main.ts"],
  outfile: `${out}/main.js`,
  plugins: [
    {
      // The worker is started from its text: a page on disk may not load one from a file.
      name: "worker-as-text",
      setup: (part) =>
        part.onLoad({ filter: /page\/worker\.js$/ }, async ({ path }) => ({
          contents: await readFile(path, "utf8"),
          loader: "text",
        })),
    },
  ],
});
const [page, script, styles] = await Promise.all(
  ["src/index.html", `${out}/main.js`, `${out}/main.css`].map((file) => readFile(file, "utf8")),
);
await mkdir(`${out}/site`, { recursive: true });
await writeFile(
  `${out}/site/index.html`,
  page
    .replace("/* styles */", () => styles.replaceAll("</style", "<\\/style"))
    .replace("/* script */", () => script.replaceAll("</script", "<\\/script")),
);

await build({
  ...common,
  entryPoints: ["test/in_browser.ts"],
  outfile: `${out}/test/in_browser.js`,
});
await build({
  bundle: true,
  platform: "node",
  format: "esm",
  entryPoints: ["test/node.ts", "test/browser.ts", "test/bench.ts"],
  outExtension: { ".js": ".mjs" },
  // Puppeteer has parts that are required at run time, which a module cannot.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
  outdir: `${out}/test`,
  logLevel: "warning",
});
