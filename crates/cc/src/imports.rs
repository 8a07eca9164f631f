//! Checks which external functions a compiled algorithm calls.
//!
//! All functions that an algorithm may call are declared in `cc.h`. An object that calls any other
//! function, such as `open` or `fork`, is refused before it is loaded, because loading may run the
//! object's code.

use std::path::Path;

use object::{Object, ObjectSymbol};

/// Permitted functions: memory and string functions, which compilers may insert by themselves;
/// `kcalloc` and `kfree` in files of the kernel (`algorithms/linux/cc_linux.h`); the functions of
/// the guard; and those of the system loader.
const PERMITTED: &[&str] = &[
    "abort",
    "calloc",
    "free",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "mmap",
    "mprotect",
    "strcmp",
    "strlen",
    "strncat",
    "strncmp",
    "__cxa_finalize",
    "__gmon_start__",
    "__stack_chk_fail",
    "__tls_get_addr",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
];

/// Returns the forbidden functions that an object needs, sorted. The result is empty if the file
/// is not an object; the loader then refuses the file.
pub(crate) fn refused(object: &Path) -> Vec<String> {
    let Ok(content) = std::fs::read(object) else { return Vec::new() };
    let Ok(file) = object::File::parse(&*content) else { return Vec::new() };
    let mut names: Vec<String> = file
        .dynamic_symbols()
        .filter(ObjectSymbol::is_undefined)
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| !name.is_empty() && !PERMITTED.contains(name))
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
