//! Loads algorithms that were compiled at run time: shared objects of a user's or a kernel's C
//! file, wrapped by `algorithms/port/guard.c`.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::algorithm::{Algorithm, ContractError, Loaded, read};
use crate::ffi::Description;
use crate::guard::{Host, watch_loading};
#[cfg(target_os = "linux")]
use crate::imports;

/// The reason why a shared object is not an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The system's loader refuses the object.
    #[error("{file}: cannot be loaded: {reason}")]
    NotLoadable {
        /// The source.
        file: String,
        /// The loader's message.
        reason: String,
    },
    /// The algorithm calls functions that the header cc.h does not declare.
    #[error("{file}: the algorithm calls {names}; it may call only functions that cc.h declares")]
    Calls {
        /// The source.
        file: String,
        /// The functions.
        names: String,
    },
    /// The file does not define a table of hooks.
    #[error(
        "{file}: the file does not define an algorithm; it must end with CC_OPS(...) and \
        CC_DESCRIBE(...)"
    )]
    NoAlgorithm {
        /// The source.
        file: String,
    },
    /// The algorithm violates the rules of the interface.
    #[error(transparent)]
    Contract(#[from] ContractError),
}

impl Algorithm {
    /// Loads a shared object into this process and never unloads it; each path is loaded only
    /// once.
    ///
    /// After this call, a rule that the algorithm breaks ends the process (see
    /// [`crate::GUARD_LINE`]). Call it only in a process that exists for runs with this algorithm.
    ///
    /// # Errors
    /// Returns an error if the object cannot be loaded or is not a valid algorithm; `file` is the
    /// name of its source in the message.
    ///
    /// # Panics
    /// Panics if the path contains a NUL character.
    pub fn load(object: &Path, file: &str) -> Result<Self, LoadError> {
        static LOADED: Mutex<BTreeMap<PathBuf, Algorithm>> = Mutex::new(BTreeMap::new());
        let mut loaded = LOADED.lock().expect("no thread panics while it holds the lock");
        if let Some(&known) = loaded.get(object) {
            return Ok(known);
        }
        let algorithm = open(object, file)?;
        loaded.insert(object.to_owned(), algorithm);
        Ok(algorithm)
    }
}

type Open = unsafe extern "C" fn(*const Host, *const c_char) -> *const Description;

fn open(object: &Path, file: &str) -> Result<Algorithm, LoadError> {
    #[cfg(target_os = "linux")]
    {
        let refused = imports::refused(object);
        if !refused.is_empty() {
            return Err(LoadError::Calls { file: file.to_owned(), names: refused.join(", ") });
        }
    }
    let path = CString::new(object.as_os_str().as_bytes()).expect("a path has no NUL");
    let source = CString::new(file).unwrap_or_default().into_raw();
    let no_algorithm = || LoadError::NoAlgorithm { file: file.to_owned() };
    // SAFETY: guard.c is part of the object, and its `cc_guard_open` has this signature; the object
    // stays loaded, so its description lives as long as the process.
    let description = watch_loading(source, |host| unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if library.is_null() {
            let reason = CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned();
            return Err(LoadError::NotLoadable { file: file.to_owned(), reason });
        }
        let symbol = libc::dlsym(library, c"cc_guard_open".as_ptr());
        if symbol.is_null() {
            return Err(no_algorithm());
        }
        let open: Open = std::mem::transmute(symbol);
        open(host, source).as_ref().ok_or_else(no_algorithm)
    })?;
    // SAFETY: `CC_DESCRIBE` or linux/module.c filled the description.
    let loaded: Loaded = unsafe { read(description, file.to_owned().leak())? };
    Ok(Algorithm(Box::leak(Box::new(loaded))))
}
