//! The algorithm files with other compilers: strict warnings, sanitizers, clang for BPF. Missing
//! compilers are skipped, with a printed reason.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Flags under which every algorithm file must compile without a warning.
const STRICT: [&str; 7] =
    ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Werror"];

fn algorithms() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms")
}

fn sources() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(algorithms())
        .expect("the folder algorithms/")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    found.sort();
    assert!(found.len() >= 3);
    found
}

fn stem(source: &Path) -> &str {
    source.file_stem().and_then(|s| s.to_str()).expect("a name in UTF-8")
}

/// Runs a compiler with `arguments`; `None`, with a printed reason, if it is missing.
fn compile(compiler: &str, arguments: &[&str], files: &[&Path], out: &Path) -> Option<Output> {
    let include = algorithms().join("include");
    let mut command = Command::new(compiler);
    command.args(arguments).arg("-I").arg(include).args(files).arg("-o").arg(out);
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: cannot run {compiler}: {error}");
            None
        }
    }
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn assert_builds(compiler: &str, arguments: &[&str], suffix: &str) {
    let port = algorithms().join("port/native.c");
    let is_bpf = arguments.contains(&"bpf");
    let mut files = sources();
    files.extend((!is_bpf).then_some(port));
    for source in &files {
        let out = scratch(&format!("{}.{suffix}.o", stem(source)));
        let Some(output) = compile(compiler, arguments, &[source], &out) else { return };
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{compiler} {}:\n{}",
            source.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn gcc_has_nothing_to_say() {
    assert_builds("gcc", &[&["-c"], &STRICT[..]].concat(), "gcc");
}

#[test]
fn clang_has_nothing_to_say() {
    assert_builds("clang", &[&["-c"], &STRICT[..]].concat(), "clang");
}

#[test]
fn clang_has_nothing_to_say_of_32_bits() {
    for name in ["wasm32", "i686-linux-gnu", "armv7-linux-gnueabihf"] {
        let target = format!("--target={name}");
        let target = [target.as_str(), "-ffreestanding", "-c"];
        assert_builds("clang", &[&target[..], &STRICT[..]].concat(), name);
    }
}

#[test]
fn clang_makes_a_bpf_object_of_each() {
    let target = ["-target", "bpf", "-mcpu=v3", "-g", "-c"];
    let arguments = [&target[..], &STRICT[..]].concat();
    assert_builds("clang", &arguments, "bpf");
    for source in sources() {
        let object = scratch(&format!("{}.bpf.o", stem(&source)));
        let Ok(bytes) = fs::read(&object) else { return };
        for section in [".struct_ops.link", ".BTF", ".BTF.ext", "license"] {
            let needle = section.as_bytes();
            assert!(
                bytes.windows(needle.len()).any(|window| window == needle),
                "{}: no section {section}",
                object.display()
            );
        }
    }
}

#[test]
fn no_algorithm_file_knows_its_target() {
    for source in sources() {
        let text = fs::read_to_string(&source).expect("UTF-8");
        for line in text.lines().map(str::trim_start).filter(|line| line.starts_with('#')) {
            let is_allowed = line.starts_with("#define") || line == "#include \"cc.h\"";
            assert!(is_allowed, "{}: {line}", source.display());
        }
        assert!(!text.contains("float") && !text.contains("double "), "{}", source.display());
        let license = "// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0\n";
        assert!(text.starts_with(license), "{}", source.display());
    }
}

#[test]
fn the_documentation_has_a_row_for_each_algorithm_with_its_aliases() {
    let page = algorithms().join("../docs/explanation/algorithms.md");
    let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
    for algorithm in cwndlab_cc::Algorithm::all() {
        let mut first = format!("| `{}`", algorithm.name());
        if !algorithm.aliases().is_empty() {
            first += &format!(" (`{}`)", algorithm.aliases().join("`, `"));
        }
        assert!(text.lines().any(|line| line.starts_with(&format!("{first} |"))), "no row {first}");
    }
}

#[test]
fn the_sanitizers_find_nothing() {
    let names: Vec<String> = sources().iter().map(|s| stem(s).replace('-', "_")).collect();
    let externs: String = names
        .iter()
        .map(|name| format!("extern const struct cc_description cc_description_{name};\n"))
        .collect();
    let table: String = names.iter().map(|name| format!("\t&cc_description_{name},\n")).collect();
    let list = scratch("all_algorithms.c");
    let text = format!(
        "#include \"cc.h\"\n\n{externs}\n\
         const struct cc_description *const all_algorithms[] = {{\n{table}\tNULL,\n}};\n"
    );
    fs::write(&list, text).expect("write the list of algorithms");

    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sanitize.c");
    let sources = sources();
    let mut files: Vec<&Path> = sources.iter().map(PathBuf::as_path).collect();
    files.extend([driver.as_path(), list.as_path()]);
    let flags = [
        "-std=gnu11",
        "-O1",
        "-g",
        "-fsanitize=undefined,address",
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
    ];
    for compiler in ["gcc", "clang"] {
        let program = scratch(&format!("sanitize.{compiler}"));
        let Some(output) = compile(compiler, &flags, &files, &program) else { continue };
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            assert!(
                reason.contains("san") && !reason.contains(".c:"),
                "{compiler} does not compile the driver:\n{reason}"
            );
            println!("skipped: {compiler} has no sanitizers here: {reason}");
            continue;
        }
        let run = Command::new(&program).output().expect("run the driver");
        assert!(
            run.status.success(),
            "{compiler}: {}{}",
            String::from_utf8_lossy(&run.stdout),
            String::from_utf8_lossy(&run.stderr)
        );
        print!("{}", String::from_utf8_lossy(&run.stdout));
    }
}
