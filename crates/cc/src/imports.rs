//! External functions that a compiled algorithm calls.
//!
//! Everything that an algorithm needs of its host is declared in `cc.h`. Any other call, such as
//! `open` or `fork`, is refused before the object is loaded, because loading may run the object's
//! code.

use std::path::Path;

use object::{Object, ObjectSymbol};

/// Memory and string functions, which compilers may call by themselves; `kcalloc` and `kfree` in a
/// kernel's file (`algorithms/linux/cc_linux.h`); the guard's functions; and the system loader's.
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

/// Returns the forbidden functions that an object needs, sorted; empty if the file is not an
/// object, which the loader will then refuse.
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
