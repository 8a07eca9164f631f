// Bundles the simulator's page into one file that works from disk, target/page/site/index.html, and
// that of `cwndlab open` beside it. What their tests run is in target/page/test.

import { build } from "esbuild";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";

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

// The page of `cwndlab open`, in files of its own, as its server allows no scripts within a page.
await build({ ...common, entryPoints: ["src/results/main.ts"], outfile: `${out}/site/results.js` });
await copyFile("src/results/index.html", `${out}/site/results.html`);

await build({
  ...common,
  entryPoints: ["test/in_browser.ts"],
  outfile: `${out}/test/in_browser.js`,
});
await build({
  bundle: true,
  platform: "node",
  format: "esm",
  entryPoints: ["test/node.ts", "test/browser.ts", "test/bench.ts", "test/page.ts", "test/results.ts", "test/open_bench.ts"],
  outExtension: { ".js": ".mjs" },
  // Puppeteer has parts that are required at run time, which a module cannot.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
  outdir: `${out}/test`,
  logLevel: "warning",
});
