//! The functions that a compiled algorithm calls outside of itself.
//!
//! An algorithm computes: what it needs of its host comes through `cc.h`. A call of anything else,
//! such as `open` or `fork`, is refused before the object is loaded, as loading may run its code.

use std::path::Path;

use object::{Object, ObjectSymbol};

/// Of memory and text, which the compiler may call by itself; `kcalloc` and `kfree` of a kernel's file
/// (`algorithms/linux/cc_linux.h`); of the guard around the algorithm; and of the system's loader.
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

/// The functions that an object needs and may not have, in alphabetical order; none of a file that is
/// no object, which the loader will refuse.
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
