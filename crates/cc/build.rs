//! Compiles every file `algorithms/*.c` with the native port and generates the registry, so that a
//! new file adds an algorithm. A source is identified by the SHA-256 of the file and of all
//! headers that it may include. The files needed to compile a user's algorithm are embedded, so
//! that a package is self-contained.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Compiler flags under which every algorithm must compile; tests add `-Wall -Wextra -Werror`.
const FLAGS: [&str; 7] = [
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Werror=conversion",
    "-Werror=sign-conversion",
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
];

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("read folder {}: {e}", folder.display()))
        .map(|entry| entry.expect("folder entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    found.sort();
    found
}

fn digest(paths: &[PathBuf]) -> String {
    let mut hash = Sha256::new();
    for path in paths {
        let text = fs::read(path).unwrap_or_else(|e| panic!("read {}: {e}", path.display()));
        hash.update(path.file_name().expect("file").as_encoded_bytes());
        hash.update([0]);
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
        hex
    })
}

fn main() {
    let here = env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo");
    let root = Path::new(&here).join("../../algorithms");
    let root = root.canonicalize().expect("the folder algorithms/");
    println!("cargo::rerun-if-changed={}", root.display());

    let mut shared = files(&root.join("include"), "h");
    shared.push(root.join("port/native.h"));
    let sources = files(&root, "c");
    assert!(!sources.is_empty(), "no algorithm in {}", root.display());

    let mut build = cc::Build::new();
    build.include(root.join("include")).opt_level(2).warnings(false);
    // Otherwise, every hook would keep a frame pointer in builds with debug information.
    build.force_frame_pointer(false);
    for flag in FLAGS {
        build.flag(flag);
    }
    build.file(root.join("port/native.c")).files(&sources).compile("cwndlab_algorithms");

    let mut externs = String::new();
    let mut entries = String::new();
    for source in &sources {
        let stem = source.file_stem().and_then(|s| s.to_str()).expect("a name in UTF-8");
        let symbol = format!("cc_description_{}", stem.replace('-', "_"));
        let mut parts = vec![source.clone()];
        parts.extend(shared.iter().cloned());
        writeln!(externs, "    safe static {symbol}: Description;")
            .expect("writing to a String cannot fail");
        writeln!(
            entries,
            "    Source {{ description: &raw const {symbol}, file: {:?}, sha256: {:?}, \
             text: include_str!({source:?}) }},",
            format!("{stem}.c"),
            digest(&parts),
        )
        .expect("writing to a String cannot fail");
    }
    let mut contract = files(&root.join("include"), "h");
    for folder in ["port", "linux"] {
        contract.extend(files(&root.join(folder), "h"));
        contract.extend(files(&root.join(folder), "c"));
    }
    let embedded: String = contract
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&root).expect("below algorithms/");
            format!("    ({name:?}, include_str!({path:?})),\n")
        })
        .collect();

    let text = format!(
        "unsafe extern \"C\" {{\n{externs}}}\n\n\
         pub(crate) static SOURCES: [Source; {}] = [\n{entries}];\n\n\
         static CONTRACT: [(&str, &str); {}] = [\n{embedded}];\n",
        sources.len(),
        contract.len()
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("OUT_DIR"));
    fs::write(out.join("registry.rs"), text).expect("write registry.rs");
}
